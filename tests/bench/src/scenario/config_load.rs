//! Reading the configuration of many tasks: row 11 of the table.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::process::Launch;
use crate::stage::Stage;

/// Local modules and variable files, each shared by many tasks.
const SHARED: u32 = 20;

const MODULE: &str = r#"variable "services" {
  type = any
}

resource "terraform_data" "instance" {
  for_each = var.services
  input    = each.value
}
"#;

/// Which language the files are in.
#[derive(Debug, Clone, Copy)]
enum Language {
    Hcl,
    Json,
    /// Every second file.
    Both,
}

pub(super) async fn run(stage: &Stage, tasks: u32, files: u32, rounds: u32) -> Result<Vec<Metric>> {
    let mut metrics = Vec::new();
    for (prefix, language) in [
        ("", Language::Both),
        ("hcl_", Language::Hcl),
        ("json_", Language::Json),
    ] {
        let directory = stage.new_directory(&format!("{prefix}site"))?;
        write_site(&directory, tasks, files, language)
            .with_context(|| format!("cannot set up {}", directory.display()))?;
        say(&format!("{tasks} tasks in {files} files: {language:?}"));
        let (seconds, rss) = measure(stage, &directory, rounds).await?;
        metrics.push(Metric::new(
            format!("{prefix}seconds"),
            seconds.median(),
            "s",
        ));
        metrics.push(Metric::new(
            format!("{prefix}rss_peak"),
            rss.median(),
            "MiB",
        ));
    }
    Ok(metrics)
}

async fn measure(stage: &Stage, directory: &Path, rounds: u32) -> Result<(Sample, Sample)> {
    let launch = Launch::new(
        "validate",
        &["config", "validate", "--config-dir", "config"],
    );
    let mut seconds = Sample::default();
    let mut rss = Sample::default();
    for round in 0..=rounds {
        let started = Moment::now();
        let process = stage.start_in(directory, &launch)?;
        let most = process.watched_to_its_end().await?;
        // The first one finds the files in no cache.
        if round > 0 {
            seconds.add(Moment::now().since(started).as_secs_f64());
            rss.add(most);
        }
    }
    Ok((seconds, rss))
}

fn write_site(directory: &Path, tasks: u32, files: u32, language: Language) -> std::io::Result<()> {
    let config = directory.join("config");
    fs::create_dir(&config)?;
    for number in 0..SHARED {
        let module = directory.join(format!("modules/module-{number}"));
        fs::create_dir_all(&module)?;
        fs::write(module.join("main.tf"), MODULE)?;
        let variables =
            format!("region = \"region-{number}\"\nlimits = {{ cpu = {number}, memory = 512 }}\n");
        fs::write(
            directory.join(format!("modules/{number}.tfvars")),
            variables,
        )?;
    }
    let mut head = String::from(
        "log_level = \"INFO\"\nconsul { address = \"localhost:8500\" }\ndriver \"terraform\" {\n  \
         required_providers { local = { source = \"hashicorp/local\" } }\n}\n",
    );
    head.extend((0..SHARED).map(provider));
    fs::write(config.join("0-head.hcl"), head)?;
    for file in 0..files {
        let of_this_file = (file..tasks).step_by(usize::try_from(files).unwrap_or(usize::MAX));
        let as_json = match language {
            Language::Hcl => false,
            Language::Json => true,
            Language::Both => file % 2 == 1,
        };
        if as_json {
            let tasks: Vec<Value> = of_this_file.map(json_task).collect();
            let text = format!("{:#}", json!({ "task": tasks }));
            fs::write(config.join(format!("tasks-{file:05}.json")), text)?;
        } else {
            let text: String = of_this_file.map(hcl_task).collect();
            fs::write(config.join(format!("tasks-{file:05}.hcl")), text)?;
        }
    }
    Ok(())
}

fn provider(number: u32) -> String {
    format!(
        "terraform_provider \"local\" {{\n  alias = \"p{number}\"\n  endpoint = \"https://{number}.example\"\n}}\n"
    )
}

fn hcl_task(number: u32) -> String {
    let shared = number % SHARED;
    format!(
        r#"# Keeps the address group of service {number} in step.
task {{
  name           = "task-{number:05}"
  description    = "instances of service {number} in the local files"
  enabled        = true
  module         = "./modules/module-{shared}"
  providers      = ["local.p{shared}"]
  variable_files = ["modules/{shared}.tfvars"]

  condition "services" {{
    names      = ["web-{number}", "api-{number}"]
    datacenter = "dc1"
    filter     = "Service.Tags contains \"v{shared}\""

    cts_user_defined_meta {{
      owner = "team-{shared}"
    }}
  }}

  buffer_period {{
    min = "5s"
    max = "{shared}m"
  }}

  variables = {{
    address_group = "\"group-{number}\""
    ports         = "[80, 443, {number}]"
  }}
}}

"#
    )
}

fn json_task(number: u32) -> Value {
    let shared = number % SHARED;
    json!({
        "name": format!("task-{number:05}"),
        "description": format!("instances of service {number} in the local files"),
        "enabled": true,
        "module": format!("./modules/module-{shared}"),
        "providers": [format!("local.p{shared}")],
        "variable_files": [format!("modules/{shared}.tfvars")],
        "condition": { "services": {
            "names": [format!("web-{number}"), format!("api-{number}")],
            "datacenter": "dc1",
            "filter": format!("Service.Tags contains \"v{shared}\""),
            "cts_user_defined_meta": { "owner": format!("team-{shared}") },
        }},
        "buffer_period": { "min": "5s", "max": format!("{shared}m") },
        "variables": {
            "address_group": format!("\"group-{number}\""),
            "ports": format!("[80, 443, {number}]"),
        },
    })
}
