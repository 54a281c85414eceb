//! A directory in which cts is started: configuration, modules, and room for copies.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::arguments::Modules;

/// The service that all tasks watch.
pub(crate) const SERVICE: &str = "web";

const CONFIGURATION: &str = "cts.hcl";

/// One built-in resource for each instance, so that nothing is downloaded.
const MODULE: &str = r#"variable "services" {
  type = map(object({
    id      = string
    address = string
    port    = number
    meta    = map(string)
  }))
}

resource "terraform_data" "instance" {
  for_each = var.services
  input    = each.value
}
"#;

/// See the module.
#[derive(Debug)]
pub(crate) struct Site {
    directory: PathBuf,
    tasks: Vec<String>,
}

/// What the configuration says besides the tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) consul: &'a str,
    pub(crate) api_port: u16,
    pub(crate) terraform: &'a Path,
}

impl Site {
    pub(crate) fn create(
        directory: PathBuf,
        settings: Settings<'_>,
        tasks: u32,
        modules: Modules,
    ) -> Result<Self> {
        let tasks: Vec<String> = (1..=tasks).map(|task| format!("task-{task:04}")).collect();
        let write = || {
            let mut text = head(settings);
            for task in &tasks {
                let module = match modules {
                    Modules::Shared => "shared",
                    Modules::Distinct => task.as_str(),
                };
                write_module(&directory.join("modules").join(module))?;
                write_task(&mut text, task, module);
            }
            // Beside the directories of cts, so that relative paths out of them stay right.
            fs::create_dir_all(directory.join("by-hand"))?;
            fs::write(directory.join(CONFIGURATION), text)
        };
        write().with_context(|| format!("cannot set up {}", directory.display()))?;
        Ok(Self { directory, tasks })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn configuration(&self) -> PathBuf {
        self.directory.join(CONFIGURATION)
    }

    pub(crate) fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// Where cts works on a task.
    pub(crate) fn task_directory(&self, task: &str) -> PathBuf {
        self.directory.join("sync-tasks").join(task)
    }

    /// Where the same is done by hand.
    pub(crate) fn by_hand_directory(&self, task: &str) -> PathBuf {
        self.directory.join("by-hand").join(task)
    }
}

fn head(settings: Settings<'_>) -> String {
    let Settings {
        consul,
        api_port,
        terraform,
    } = settings;
    format!(
        r#"log_level = "INFO"
port      = {api_port}

buffer_period {{
  enabled = false
}}

consul {{
  address = "{consul}"
}}

driver "terraform" {{
  path = "{}"
}}
"#,
        terraform.display()
    )
}

fn write_task(text: &mut String, task: &str, module: &str) {
    let block = format!(
        r#"
task {{
  name   = "{task}"
  module = "./modules/{module}"

  condition "services" {{
    names = ["{SERVICE}"]
  }}
}}
"#
    );
    text.push_str(&block);
}

fn write_module(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("main.tf"), MODULE)
}
