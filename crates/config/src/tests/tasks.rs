//! `task`, its condition and variables (docs/configuration.md#task, #condition).

use std::path::Path;

use cts_core::MaxShrink;

use super::{Sandbox, assert_each, assert_problem, config, problems, task_with};

#[test]
fn the_directory_of_a_task_depends_on_no_global_one() {
    for top in ["", "working_dir = \"/w\"", "worker { working_dir = \"w\" }"] {
        let config = config(&format!("{top}\n{}", task_with("")));
        assert_eq!(
            config.tasks[0].definition.working_dir,
            Path::new("t"),
            "{top}"
        );
    }
}

#[test]
fn tasks_are_checked() {
    let condition = "condition \"services\" { names = [\"a\"] }";
    let named = |name: &str| format!("task {{ name = \"{name}\" module = \"./m\" {condition} }}");
    let cases = r#"
        providers = ["a.x",
        "a.y"] #~ provider `a` is listed twice

        name = ["a", "b"] #~ `task.name` must be text, not a list
        buffer_period { min = "-1s" } #~ cannot be negative
        modul = 1 #~ unknown key `modul` in `task`
        condition "services" { names = ["b"] } #~ only one `task.condition` block
        variables { a = [1, 2] } #~ variable `a` must be text, not a list
        providers = [""] #~ `providers` includes an empty string
    "#;
    assert_each(cases, task_with, assert_problem);
    assert_problem(&named("web task"), 1, "invalid task name");
    assert_problem(&named(""), 1, "unique name for the task is required");
    assert_problem(
        &format!("{}\n{}", named("a"), named("a")),
        2,
        "duplicate task name \"a\"",
    );
    assert_problem(
        &format!("task {{ module = \"./m\" {condition} }}"),
        1,
        "unique name for the task is required",
    );
    assert_problem(
        &format!("task {{ name = \"a\" {condition} }}"),
        1,
        "module for the task is required",
    );
    assert_problem(
        &named("a").replace("task {", "task \"x\" {"),
        1,
        "a `task` block takes no label",
    );
    assert_problem(
        &task_with("").replace("\"./m\"", "\"\""),
        3,
        "`module` must not be empty",
    );
    let long_name = format!("concurrency_group = \"{}\"", "x".repeat(101));
    assert_problem(
        &task_with(&long_name),
        5,
        "must be a name of 1 to 100 characters",
    );
    let cases = r#"
        concurrency_group = "" #~ must be a name of 1 to 100 characters
        approval = "ask" #~ approval` must be "never" or "destroy" or "always", not "ask"
        approval = true #~ must be "never" or "destroy" or "always"
        approval_ignore = ["aws_x.y"] #~ approval_ignore` is not an attribute of a resource, as in
        approval_ignore = ["a.b.c", "data.a.b.c"] #~ is of a data source, which is not part of an effect
        approval_ignore = ["*"] #~ is not an attribute of a resource
        approval_ignore = ["a.b.c\u0000"] #~ approval_ignore` must be text, not text with the character U+0000
        description = "a\u0000" #~ `task.description` must be text, not text with the character U+0000
        variables { a = "\u0000" } #~ variable `a` must be text, not text with the character U+0000
        variables { a = "[{\"b\" = \"\\u0000\"}]" } #~ variable `a` is no HCL expression: its value has the character U+0000
        approval_expires = "24h" #~ unknown key `approval_expires` in `task`
        plan = "kept" #~ must be "direct" or "saved", not "kept"
        on_delete = "" #~ on_delete` must be "retain" or "destroy"
        on_delete = "Destroy" #~ on_delete` must be "retain" or "destroy"
        on_delete = true #~ on_delete` must be "retain" or "destroy"
        max_shrink = "half" #~ neither a number of instances
        max_shrink = -1 #~ neither a number of instances
        max_shrink = "101%" #~ neither a number of instances
        min_instances = 0 #~ must be between 1 and 1000000, not 0
        outputs = ["a b"] #~ which is no name of Terraform
        outputs = ["a", "a"] #~ `outputs` names "a" twice
    "#;
    assert_each(cases, task_with, assert_problem);
}

#[test]
fn every_fault_of_a_task_is_reported_at_once() {
    let found = problems(
        "task {\n name = \"a b\"\n enabled = \"yes\"\n providers = [\"p\", \"p\"]\n modules = \"x\"\n}",
    );
    let lines: Vec<_> = found.iter().map(|(line, _)| *line).collect();
    // The missing `module` is reported at the block.
    assert_eq!(lines, [1, 2, 3, 4, 5], "{found:#?}");
}

#[test]
fn names_are_identifiers_of_any_script() {
    for name in [
        "_", "a-b_c9", "web-1", "ä", "a\u{301}", "a·b", "Ⅷ", "名", "\u{37a}", "ﷺ",
    ] {
        let text =
            task_with("").replace("\"t\"", &format!("{name:?}").replace("\\u{301}", "\u{301}"));
        assert_eq!(config(&text).tasks[0].name().as_str(), name);
    }
    for name in ["1a", "-a", "a b", "a.b", "a/b", "²", "a²", "·a", "🦀"] {
        let text = task_with("").replace("\"t\"", &format!("{name:?}"));
        assert_problem(&text, 2, "must start with a letter or underscore");
    }
    // Names that differ in case are different.
    let two = format!(
        "{}\n{}",
        task_with(""),
        task_with("").replace("\"t\"", "\"T\"")
    );
    assert_eq!(config(&two).tasks.len(), 2);
}

#[test]
fn references_to_providers_that_lead_nowhere_are_warned_of() {
    let sandbox = Sandbox::new();
    let warnings = |providers: &str, blocks: &str| {
        let extra = format!("providers = [{providers}]");
        sandbox.warnings(&format!("{}\n{blocks}", task_with(&extra)))
    };
    let blocks = "terraform_provider \"fw\" { alias = \"north\" }";
    let [misspelt] = warnings("\"fw.nroth\"", blocks).try_into().unwrap();
    assert!(
        misspelt.contains("no `terraform_provider` block is `fw.nroth`"),
        "{misspelt}"
    );
    assert!(misspelt.ends_with("did you mean `fw.north`?"), "{misspelt}");
    assert_eq!(warnings("\"dns\"", blocks).len(), 1);
    // A name takes the first block with it; without any block, others have them.
    assert!(warnings("\"fw\"", blocks).is_empty());
    assert!(warnings("\"fw.north\"", blocks).is_empty());
    assert!(warnings("\"dns\"", "").is_empty());
}

#[test]
fn a_guard_that_guards_nothing_is_warned_of() {
    let sandbox = Sandbox::new();
    let read = |written: &str| {
        sandbox
            .config(&task_with(written))
            .tasks
            .remove(0)
            .file_settings
            .guard
    };
    assert_eq!(
        read("max_shrink = 3").max_shrink,
        Some(MaxShrink::Instances(3))
    );
    let schedule = "task { name = \"t\" module = \"./m\" max_shrink = 3 min_instances = 1
        condition \"schedule\" { cron = \"@daily\" }
        module_input \"consul-kv\" { path = \"k\" } }";
    let warnings = sandbox.warnings(schedule);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("no effect: the task has no instances of services"),
        "{warnings:?}"
    );
}
