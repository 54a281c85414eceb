//! Tasks that are declared over the API (docs/rest.md#task-objects).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta};
use cts_core::{
    ApprovalRule, BufferPeriod, CatalogServicesCondition, Condition, ConsulKvCondition,
    DraftBufferPeriod, DraftWorkspace, KvQuery, ModuleInput, ScheduleCondition, ServicesCondition,
    ServicesQuery, TaskDraft, TaskSpec,
};
use serde_json::json;

use super::{Sandbox, task};
use crate::DeclaredTasks;

fn services(names: &[&str], regexp: Option<&str>) -> Condition {
    Condition::Services(ServicesCondition {
        query: ServicesQuery {
            names: names.iter().map(|&name| name.into()).collect(),
            regexp: regexp.map(Into::into),
            datacenter: String::new(),
            namespace: String::new(),
            filter: String::new(),
            cts_user_defined_meta: BTreeMap::new(),
            declared: BTreeMap::new(),
        },
        use_as_module_input: true,
    })
}

fn draft() -> TaskDraft {
    TaskDraft {
        name: "a".into(),
        enabled: true,
        module: "./m".into(),
        condition: services(&["web"], None),
        ..TaskDraft::default()
    }
}

/// A draft with a change.
fn with(change: impl FnOnce(&mut TaskDraft)) -> TaskDraft {
    let mut draft = draft();
    change(&mut draft);
    draft
}

fn kv(path: &str) -> Condition {
    Condition::ConsulKv(ConsulKvCondition {
        query: KvQuery {
            path: path.into(),
            ..KvQuery::default()
        },
        use_as_module_input: true,
    })
}

fn read_under(sandbox: &Sandbox, config: &str, draft: &TaskDraft) -> Result<TaskSpec, String> {
    let config = sandbox.config(config);
    let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
    let read = DeclaredTasks::new(&config, sandbox.path()).read(draft, now);
    let read = read.map_err(|invalid| invalid.to_string())?;
    match &read.requirement.unusable_module {
        Some(problem) => Err(problem.clone()),
        None => Ok(read),
    }
}

fn read(draft: &TaskDraft) -> Result<TaskSpec, String> {
    read_under(&Sandbox::new(), "", draft)
}

#[test]
fn a_task_is_the_same_as_one_of_a_file() {
    let sandbox = Sandbox::new();
    let of_a_file = task(
        &sandbox,
        "variables = {\n  a = \"[1, 2]\"\n}\nproviders = [\"fw.north\"]\noutputs = [\"b\", \"a\"]",
    );
    let declared = TaskDraft {
        name: of_a_file.name().to_string(),
        variables: BTreeMap::from([("a".into(), "[1, 2]".into())]),
        providers: vec!["fw.north".into()],
        outputs: vec!["b".into(), "a".into()],
        ..draft()
    };
    assert_eq!(read_under(&sandbox, "", &declared), Ok(of_a_file));
}

#[test]
fn a_rule_needs_people_who_can_be_told_apart_and_no_server() {
    let sandbox = Sandbox::new();
    let ruled = with(|it| it.approval = Some(ApprovalRule::Always));
    let found = read_under(&sandbox, "", &ruled).unwrap();
    assert_eq!(found.api_approval, Some(ApprovalRule::Always));
    let cloud = "driver \"terraform-cloud\" { organization = \"o\" token = \"t\" }";
    for (config, reason) in [
        (cloud, "the workspace's own approvals are the way"),
        (
            "security { strict = true }",
            "without security.require_auth",
        ),
    ] {
        let refused = read_under(&sandbox, config, &ruled).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
        let never = with(|it| it.approval = Some(ApprovalRule::Never));
        let refused = read_under(&sandbox, config, &never)
            .err()
            .unwrap_or_default();
        assert!(!refused.contains("approval"), "{refused}");
    }
}

#[test]
fn modules_are_resolved_and_must_be_there() {
    let sandbox = Sandbox::new();
    let definition = read_under(&sandbox, "", &draft()).unwrap().definition;
    assert_eq!(
        Path::new(&definition.module_source),
        sandbox.path().join("m")
    );
    assert!(definition.module_digest.is_some());
    assert_eq!(definition.working_dir, PathBuf::from("a"));
    let published = with(|it| it.module = "acme/web/any".into());
    let definition = read(&published).unwrap().definition;
    assert_eq!(definition.module_source, "acme/web/any");
    assert_eq!(definition.module_digest, None);
}

/// Reads a task with this module, under this configuration.
fn read_module(sandbox: &Sandbox, config: &str, module: &str) -> Result<TaskSpec, String> {
    let draft = with(|it| it.module = module.to_owned());
    read_under(sandbox, config, &draft)
}

#[test]
fn a_client_learns_nothing_of_files_from_a_module_that_cannot_be_used() {
    let (sandbox, outside) = (Sandbox::new(), Sandbox::new());
    let (own, out) = (sandbox.path(), outside.path());
    outside.write("secret/key.pem", "");
    sandbox.write("linking/main.tf", "variable \"services\" {}\n");
    sandbox.write("empty/readme", "");
    sandbox.write("file", "");
    for (target, link) in [
        (out.join("m"), "linked"),
        (out.join("secret/key.pem"), "linking/key.pem"),
        (own.join("none"), "dangling"),
        (own.join("m"), "list/out"),
    ] {
        let link = own.join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
    }
    for module in [
        out.join("m").to_str().unwrap(),
        out.join("none").to_str().unwrap(),
        "/proc/self",
        "../../../etc",
        "./linked",
        "./linking",
        "./dangling",
        "./none",
        "./empty",
        "./file",
        "./file/below",
    ] {
        let refused = read_module(&sandbox, "", module).unwrap_err();
        assert_eq!(refused, cts_core::unusable_module(module));
        // Nor with a list of sources.
        let config = "security { module_sources = [\"/\"] }";
        let refused = read_module(&sandbox, config, module).unwrap_err();
        assert_eq!(refused, cts_core::unusable_module(module));
    }
    let config = "security { module_sources = [\"./list\"] }";
    for module in ["./list/out", "./list/none"] {
        let refused = read_module(&sandbox, config, module).unwrap_err();
        assert_eq!(refused, cts_core::unusable_module(module));
    }
    let roots = format!("module_roots = [{out:?}]");
    read_module(&sandbox, &roots, out.join("m").to_str().unwrap()).unwrap();
    let refused = read_module(&sandbox, &roots, "./m").unwrap_err();
    assert_eq!(refused, cts_core::unusable_module("./m"));

    // A name alone is no address, whether a directory has it or not.
    let texts = ["m", "n"].map(|module| {
        let refused = read_module(&sandbox, "", module).unwrap_err();
        refused
            .replace(&format!("{module:?}"), "NAME")
            .replace(&format!("./{module}"), "./NAME")
    });
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn the_working_directory_of_a_task_is_no_module() {
    let sandbox = Sandbox::new();
    let header = cts_core::GENERATED_NOTICE;
    let module = "variable \"services\" {}\n";
    sandbox.write("sync-tasks/web/main.tf", format!("{header}\n{module}"));
    sandbox.write("sync-tasks/web/.terraform/modules/x/main.tf", module);
    sandbox.write("sync-tasks/modules/own/main.tf", module);
    sandbox.write("elsewhere/db/main.tf", module);
    sandbox.write(
        "calls/main.tf",
        format!("{module}module \"web\" {{\n  source = \"../sync-tasks/web\"\n}}\n"),
    );
    std::os::unix::fs::symlink("sync-tasks/web", sandbox.path().join("link")).unwrap();
    let file = "task {\n name = \"db\"\n module = \"./m\"\n working_dir = \"elsewhere/db\"\n \
                condition \"services\" { names = [\"web\"] }\n}\n";
    for sources in ["", "security { module_sources = [\"./\"] }\n"] {
        let config = format!("{sources}{file}");
        for module in [
            "./sync-tasks/web",
            "./sync-tasks/web/.terraform/modules/x",
            "./elsewhere/db",
            "./calls",
            "./link",
        ] {
            let refused = read_module(&sandbox, &config, module).unwrap_err();
            assert_eq!(refused, cts_core::unusable_module(module));
        }
        // The rest of the working directory is not that of a task.
        read_module(&sandbox, &config, "./sync-tasks/modules/own").unwrap();
    }
}

#[test]
fn buffer_periods_are_inherited_or_count_as_sent() {
    let global = "buffer_period {\n  min = \"7s\"\n  max = \"30s\"\n}";
    let sandbox = Sandbox::new();
    let period = |buffer_period| {
        let draft = with(|it| it.buffer_period = buffer_period);
        read_under(&sandbox, global, &draft).unwrap()
    };
    let seconds = |min, max| BufferPeriod {
        enabled: true,
        min: Duration::from_secs(min),
        max: Duration::from_secs(max),
    };
    let inherited = period(None);
    assert_eq!(inherited.buffer_period, seconds(7, 30));
    assert_eq!(inherited.buffer_setting, None);
    let sent = |enabled, min, max| {
        Some(DraftBufferPeriod {
            enabled,
            min: Some(TimeDelta::seconds(min)),
            max: Some(TimeDelta::seconds(max)),
        })
    };
    assert_eq!(period(sent(None, 10, 0)).buffer_period, seconds(10, 10));
    assert_eq!(period(sent(Some(true), 0, 0)).buffer_period, seconds(0, 0));
    let off = period(sent(Some(false), -1, 0));
    assert_eq!(off.buffer_period, BufferPeriod::DISABLED);
}

#[test]
fn with_names_an_expression_is_dropped() {
    let both = with(|it| it.condition = services(&["web"], Some("(")));
    assert_eq!(
        read(&both).unwrap().definition.condition,
        services(&["web"], None)
    );
}

#[test]
fn no_condition_is_a_task_that_nothing_triggers() {
    let none = with(|it| it.condition = Condition::NoCondition);
    assert_eq!(
        read(&none).unwrap().definition.condition,
        Condition::NoCondition
    );
}

#[test]
fn refuses_invalid_drafts_with_the_reason() {
    let condition = |condition| with(|it| it.condition = condition);
    let catalog = |regexp: &str| {
        condition(Condition::CatalogServices(CatalogServicesCondition {
            regexp: regexp.into(),
            datacenter: String::new(),
            namespace: String::new(),
            node_meta: BTreeMap::new(),
            use_as_module_input: true,
        }))
    };
    let schedule =
        |cron: &str| condition(Condition::Schedule(ScheduleCondition { cron: cron.into() }));
    let inputs = |module_inputs| with(|it| it.module_inputs = module_inputs);
    let of_services = || ModuleInput::Services(ServicesQuery::default());
    let of_kv = || ModuleInput::ConsulKv(KvQuery::default());
    let cases: Vec<(TaskDraft, &str)> = vec![
        (
            with(|it| it.name.clear()),
            "unique name for the task is required",
        ),
        (
            with(|it| it.name = "1a".into()),
            "a task name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes: \"1a\"",
        ),
        (
            with(|it| it.module.clear()),
            "module for the task is required",
        ),
        (
            with(|it| it.module = "./none".into()),
            "module \"./none\" cannot be used",
        ),
        (
            with(|it| it.providers = vec!["fw.a".into(), "fw.b".into()]),
            "only one provider instance per task: provider `fw` is listed twice",
        ),
        (
            condition(services(&[], None)),
            "error validating `condition \"services\"` block: either the regexp or names field must be configured",
        ),
        (
            condition(services(&["web", ""], None)),
            "error validating `condition \"services\"` block: names field includes empty string(s). services names cannot be empty",
        ),
        (
            condition(services(&[], Some("("))),
            "error validating `condition \"services\"` block: unable to compile services regexp",
        ),
        (catalog("("), "unable to compile catalog-services 'regexp'"),
        (
            condition(kv("")),
            "path is required for consul-kv condition",
        ),
        (
            schedule("x"),
            "unable to parse schedule condition's cron config \"x\": missing field(s)",
        ),
        (
            schedule(""),
            "cron config is required for schedule condition",
        ),
        (
            schedule("0 0 1 1 * 1999"),
            "it never fires again: its last time has passed",
        ),
        (
            inputs(vec![of_services()]),
            "both monitor \"services\" variable type. condition and module_input variable type must be unique",
        ),
        (
            inputs(vec![of_kv(), of_kv()]),
            "more than one `module_input` for the variable `consul_kv`",
        ),
        (
            with(|it| {
                it.buffer_period = Some(DraftBufferPeriod {
                    enabled: None,
                    min: Some(TimeDelta::seconds(-1)),
                    max: None,
                });
            }),
            "buffer_period: cannot be negative",
        ),
        (
            with(|it| it.variables = BTreeMap::from([("v".into(), "word".into())])),
            "variable `v` is no HCL expression",
        ),
        (
            with(|it| it.variables = BTreeMap::from([("v".into(), r#""\u0000""#.into())])),
            "variable `v` is no HCL expression: its value has the character U+0000",
        ),
        (
            with(|it| it.terraform_version = "1.2.3".into()),
            "unsupported configuration 'terraform_version' for task \"a\"",
        ),
        (
            with(|it| {
                it.workspace = Some(DraftWorkspace {
                    execution_mode: "agent".into(),
                    ..DraftWorkspace::default()
                });
            }),
            "unsupported configuration 'terraform_cloud_workspace' for task \"a\"",
        ),
    ];
    for (draft, expected) in cases {
        let error = read(&draft).expect_err(expected);
        assert!(error.contains(expected), "{expected:?}: {error}");
    }
    for draft in [
        condition(services(&[], Some("^w"))),
        catalog("^w"),
        condition(kv("a")),
        schedule("@daily"),
        inputs(vec![of_kv()]),
    ] {
        assert_eq!(read(&draft).err(), None, "{draft:?}");
    }
}

#[test]
fn reports_all_problems_of_a_draft_at_once() {
    let draft = TaskDraft {
        name: "1".into(),
        module: String::new(),
        ..draft()
    };
    let error = read(&draft).unwrap_err();
    assert_eq!(error.matches("; ").count(), 1, "{error}");
}

#[test]
fn an_empty_workspace_says_nothing() {
    let draft = with(|it| it.workspace = Some(DraftWorkspace::default()));
    let expected = json!({});
    let spec = read(&draft).unwrap();
    assert_eq!(spec.definition.workspace, None);
    assert_eq!(
        serde_json::to_value(spec.definition.variables).unwrap(),
        expected
    );
}

#[test]
fn variables_fit_the_module() {
    let setting = |name: &str| with(|it| it.variables = [(name.into(), "1".into())].into());
    read(&setting("a")).unwrap();
    for (name, message) in [
        ("services", "variable `services` cannot be set"),
        ("source", "Terraform keeps that name for itself"),
        (
            "other",
            "is missing the \"other\" variable, which the task sets",
        ),
    ] {
        let error = read(&setting(name)).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn outputs_are_names_each_once_and_not_too_many() {
    let naming = |outputs: Vec<String>| with(|it| it.outputs = outputs);
    let many = |count: usize| (0..count).map(|number| format!("o{number}")).collect();
    assert_eq!(
        read(&naming(many(32))).unwrap().definition.outputs.len(),
        32
    );
    for (outputs, message) in [
        (many(40), "`outputs` has more than 32 names"),
        (
            vec!["a b".into()],
            "`outputs` includes \"a b\", which is no name",
        ),
        (
            vec!["${x}".into()],
            "`outputs` includes \"${x}\", which is no name",
        ),
        (
            vec![String::new()],
            "`outputs` includes \"\", which is no name",
        ),
        (vec!["a".into(), "a".into()], "`outputs` names \"a\" twice"),
    ] {
        let error = read(&naming(outputs)).unwrap_err();
        assert!(error.contains(message), "{error}");
        assert_eq!(
            error.matches("more than").count(),
            message.matches("more than").count()
        );
    }
}

#[test]
fn texts_that_cannot_be_handed_on_are_refused_before_anything_else() {
    let long = with(|it| it.module = format!("./{}", "m".repeat(5000)));
    let deep = with(|it| {
        let Condition::Services(services) = &mut it.condition else {
            panic!("the condition is another");
        };
        services.query.filter = "((((((a == b))))))".into();
    });
    let cases = [
        (long, "`module` has 5002 bytes, more than 4096"),
        (
            deep,
            "`filter` cannot be sent to Consul: more than 5 parentheses are open at character 6",
        ),
    ];
    for (draft, expected) in cases {
        let config = "security { module_sources = [\"./m\"] }";
        let error = read_under(&Sandbox::new(), config, &draft).unwrap_err();
        assert_eq!(error, expected);
    }
}

#[test]
fn several_instances_of_a_provider_need_a_module_with_their_aliases() {
    let sandbox = Sandbox::new();
    let aliased = r#"terraform {
        required_providers {
            fw = { source = "a/fw", configuration_aliases = [fw.a, fw.b] }
        }
    }
    variable "services" {}"#;
    sandbox.write("aliased/main.tf", aliased);
    let draft = |module: &str| {
        with(|it| {
            it.module = module.into();
            it.providers = vec!["fw.a".into(), "fw.b".into()];
        })
    };
    let read = |module: &str| read_under(&sandbox, "", &draft(module));
    assert_eq!(read("./aliased").unwrap().definition.providers.len(), 2);
    for module in ["./m", "acme/aliased/fw"] {
        let refused = read(module).unwrap_err();
        assert!(
            refused.contains("only one provider instance per task"),
            "{refused}"
        );
    }
}
