//! `approval` and `approval_expires` of the top level (`docs/configuration.md#top-level`).

use std::time::Duration;

use cts_core::{ApprovalDefaults, ApprovalRule};

use super::super::{Sandbox, assert_each, assert_problem, config, problems, task_with};

const CLOUD: &str = "driver \"terraform-cloud\" { organization = \"o\" token = \"t\" }\n";

#[test]
fn the_default_of_the_files_is_merged_over_them_and_never_that_of_a_task() {
    assert_eq!(config("port = 1").approvals, ApprovalDefaults::default());
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.json",
        r#"{"approval": "always", "approval_expires": "2h"}"#,
    );
    sandbox.write(
        "b.hcl",
        format!("approval = \"destroy\"\n{}", task_with("")),
    );
    let config = sandbox.load(&["a.json", "b.hcl"]).unwrap().config;
    let expected = ApprovalDefaults {
        rule: ApprovalRule::Destroy,
        expires: Duration::from_hours(2),
    };
    assert_eq!(config.approvals, expected);
    assert_eq!(config.tasks[0].file_settings.approval, None);
}

#[test]
fn wrong_values_are_named() {
    let cases = r#"
        approval = "ask" #~ `approval` must be "never" or "destroy" or "always", not "ask"
        approval = "Always" #~ must be "never" or "destroy" or "always"
        approval { } #~ `approval` must be
        approval_expires = "59s" #~ `approval_expires` must be between 1m and
        approval_expires = "90500ms" #~ `approval_expires` must be whole seconds, not 90.5s
        approval_expires = 24 #~ must be between 1m and
        approval_expire = "1h" #~ unknown key `approval_expire`
    "#;
    assert_each(cases, str::to_owned, assert_problem);
}

#[test]
fn a_server_of_hcp_terraform_has_its_own_approvals() {
    let asks = |rule| format!("{CLOUD}approval = {rule:?}\n{}", task_with(""));
    let task_asks = |rule| format!("{CLOUD}{}", task_with(&format!("approval = {rule:?}")));
    let message = "`approval` is not for the driver `terraform-cloud`: the workspace's own approvals are the way";
    for rule in ["destroy", "always"] {
        assert_eq!(problems(&asks(rule)), [(2, message.to_owned())]);
        assert_eq!(problems(&task_asks(rule)), [(6, message.to_owned())]);
    }
    assert_eq!(config(&asks("never")).tasks.len(), 1);
    assert_eq!(config(&task_asks("never")).tasks.len(), 1);
    let ignoring = task_with("approval_ignore = [\"t.n.a\"]");
    let warnings = Sandbox::new().warnings(&format!("{CLOUD}{ignoring}"));
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:?}");
    };
    assert!(
        warning.contains("`approval_ignore` has no effect"),
        "{warning}"
    );
}
