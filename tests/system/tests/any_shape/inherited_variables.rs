//! Variables of the environment by which people steer Terraform (docs/terraform.md).

use std::fs;

use cts_testkit::{ConsulAgent, free_port};
use cts_tests::{Backend, Site, task};
use serde_json::json;

const MODULE: &str = r#"
variable "services" {
  type = any
}

variable "region" {
  default = "none"
}

resource "terraform_data" "recorded" {
  input = { workspace = terraform.workspace, region = var.region, ids = values(var.services)[*].id }
}
"#;

#[tokio::test]
async fn variables_that_steer_terraform_change_no_task_and_are_named_once() {
    let consul = ConsulAgent::start().await;
    for name in ["api", "web"] {
        let id = format!("{name}-1");
        consul.register_service(name, &id, 1, &[], &[]).await;
    }
    let mut site = Site::new();
    site.write("modules/region/main.tf", MODULE);
    let tasks = ["api", "web"].map(|name| task(name, "./modules/region", &[name], ""));
    site.configure(&consul.address(), Backend::Shared, &tasks.concat());
    for (name, value) in [
        ("TF_CLI_ARGS_apply", "-parallelism=nonsense"),
        ("TF_CLI_ARGS_init", "-plugin-dir=/nope"),
        ("TF_VAR_region", "eu"),
        ("TF_WORKSPACE", "prod"),
        ("TF_INPUT", "1"),
    ] {
        site.set_environment(name, value);
    }
    let shared = site.path().join("shared-data");
    site.set_environment("TF_DATA_DIR", shared.display().to_string());
    let exit = site.run_cts(free_port(), &["-once"]).wait().await;
    exit.assert_code(0);
    for name in ["api", "web"] {
        let expected = json!({"workspace": name, "region": "none", "ids": [format!("{name}-1")]});
        assert_eq!(site.recorded(name).unwrap(), expected);
    }
    let entries = fs::read_dir(&shared).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["api", "web"], "each task has data of its own");
    let lines = exit.output.lines();
    let warned = lines.filter(|line| {
        let names = "TF_CLI_ARGS_apply, TF_CLI_ARGS_init, TF_VAR_region, TF_WORKSPACE";
        let remedies = ["`variables`", "`parallelism`", "`task_env`"];
        line.contains("[WARN]")
            && line.contains(names)
            && remedies.iter().all(|remedy| line.contains(remedy))
    });
    assert_eq!(warned.count(), 1, "{}", exit.output);
}
