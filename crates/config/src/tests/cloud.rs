//! Settings of tasks for the driver `terraform-cloud` (`docs/configuration.md#terraform_cloud_workspace`).

use cts_core::CloudWorkspace;

use super::{Sandbox, assert_each, assert_problem, problems, task_with};

const DRIVER: &str = "driver \"terraform-cloud\" { organization = \"o\" token = \"t\" }";

/// The settings of a task with the driver, and the warnings about them.
fn workspace(extra: &str) -> (Option<CloudWorkspace>, Vec<String>) {
    let sandbox = Sandbox::new();
    let text = format!("{}\n{DRIVER}\n", task_with(extra));
    sandbox.write("a.hcl", &text);
    let mut loaded = sandbox.load(&["a.hcl"]).unwrap();
    let warnings = loaded.warnings.problems().iter();
    let warnings = warnings
        .map(|warning| warning.message().to_owned())
        .collect();
    (loaded.config.tasks.remove(0).definition.workspace, warnings)
}

#[test]
fn the_name_of_a_pool_has_no_effect_beside_its_id() {
    let (_, warnings) = workspace(
        "terraform_cloud_workspace { execution_mode = \"agent\" agent_pool_name = \"p\" agent_pool_id = \"i\" }",
    );
    assert_eq!(
        warnings,
        ["`agent_pool_name` has no effect beside `agent_pool_id`"]
    );
}

#[test]
fn the_version_of_a_task_is_the_former_place_of_the_setting() {
    let (found, warnings) = workspace("terraform_version = \"1.9.8\"");
    assert_eq!(found.unwrap().terraform_version.as_deref(), Some("1.9.8"));
    assert!(
        warnings[0].starts_with("`terraform_version` is deprecated, use `terraform_version` in a")
    );
    let (found, warnings) = workspace(
        "terraform_version = \"1.9.8\" terraform_cloud_workspace { terraform_version = \"1.9.7\" }",
    );
    assert_eq!(found.unwrap().terraform_version.as_deref(), Some("1.9.7"));
    assert!(warnings[0].contains("it is ignored here"), "{warnings:?}");
}

#[test]
fn settings_are_checked_with_the_driver() {
    let cases = r#"
        execution_mode = "agents" #~ must be "remote" or "agent", not "agents"
        execution_mode = "agent" #~ needs `agent_pool_id` or `agent_pool_name`
        agent_pool_id = "i" #~ an agent pool is configured, but
        execution_mode = "remote" agent_pool_name = "p" #~ an agent pool is configured, but
        terraform_version = "1.9" #~ provide the exact Terraform version
        terraform_version = "0.12.0" #~ outside the supported range
        auto_upgrade_tf_version = "yes" #~ must be true or false
        agent_pool = "p" #~ unknown key `agent_pool`
    "#;
    assert_each(
        cases,
        |setting| {
            let extra = format!("terraform_cloud_workspace {{ {setting} }}");
            format!("{}\n{DRIVER}", task_with(&extra))
        },
        assert_problem,
    );
    let extra = "terraform_version = \"1\"";
    assert_problem(
        &format!("{}\n{DRIVER}", task_with(extra)),
        5,
        "provide the exact Terraform version",
    );
}

#[test]
fn with_the_other_driver_nothing_may_be_set() {
    for driver in ["", "driver \"terraform\" { }"] {
        for setting in [
            "terraform_version = \"1.9.8\"",
            "terraform_cloud_workspace { execution_mode = \"remote\" }",
            "terraform_cloud_workspace { agent_pool_id = \"i\" }",
            "terraform_cloud_workspace { auto_upgrade_tf_version = false }",
        ] {
            let text = format!("{}\n{driver}", task_with(setting));
            assert_problem(&text, 5, "is for the driver `terraform-cloud`");
            let key = setting.split(' ').next().unwrap();
            let sentence = format!("unsupported configuration '{key}' for task \"t\": ");
            assert_problem(&text, 5, &sentence);
        }
        for empty in [
            "terraform_version = \"\"",
            "terraform_cloud_workspace { }",
            "terraform_cloud_workspace { execution_mode = \"\" }",
        ] {
            Sandbox::new().config(&format!("{}\n{driver}", task_with(empty)));
        }
    }
    // A driver that is wrong itself makes no further problems.
    let text = format!(
        "{}\ndriver \"terraform-cloud\" {{ token = \"t\" }}",
        task_with("terraform_version = \"1.9.8\"")
    );
    assert_eq!(problems(&text).len(), 1);
}
