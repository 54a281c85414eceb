use semver::Version;

use super::*;
use crate::step::{Step, Tuning};

fn directory() -> TaskDirectory {
    TaskDirectory::new("sync-tasks/edge", Path::new("/srv/cts"))
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
    pairs
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn list(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn environment(
    inherited: &[(&str, &str)],
    backend: &[(&str, &str)],
    task_env: &[(&str, &str)],
    persist_log: bool,
) -> ChildEnvironment {
    let sources = EnvironmentSources {
        inherited: &InheritedEnvironment::of(&map(inherited)),
        tracing: &[],
        backend: &list(backend),
        task_env: &list(task_env),
        lock_timeout: None,
        persist_log,
        worker: None,
    };
    ChildEnvironment::new(sources, &TaskName::new("edge").unwrap(), &directory())
}

#[test]
fn a_later_source_wins_but_not_over_what_is_forced() {
    let environment = environment(
        &[("CONSUL_HTTP_ADDR", "inherited")],
        &[
            ("CONSUL_HTTP_ADDR", "backend"),
            ("CONSUL_HTTP_TOKEN", "backend"),
        ],
        &[
            ("CONSUL_HTTP_TOKEN", "task"),
            ("TF_VAR_size", "3"),
            ("TF_WORKSPACE", "other"),
            ("CTS_TASK_DIR", "/elsewhere"),
        ],
        false,
    );
    assert_eq!(
        environment.get("CONSUL_HTTP_ADDR"),
        Some(OsStr::new("backend"))
    );
    assert_eq!(
        environment.get("CONSUL_HTTP_TOKEN"),
        Some(OsStr::new("task"))
    );
    assert_eq!(environment.get("TF_VAR_size"), Some(OsStr::new("3")));
    assert_eq!(environment.get("TF_WORKSPACE"), None);
    assert_eq!(
        environment.get("CTS_TASK_DIR"),
        Some(OsStr::new("/srv/cts/sync-tasks/edge"))
    );
}

#[test]
fn the_marker_of_the_worker_is_never_somebody_elses() {
    let others = [("CTS_WORKER", "other")];
    let without = environment(&others, &[], &[("CTS_WORKER", "provider")], false);
    assert_eq!(without.get("CTS_WORKER"), None);
    let sources = EnvironmentSources {
        inherited: &InheritedEnvironment::of(&map(&others)),
        tracing: &[],
        backend: &[],
        task_env: &list(&[("CTS_WORKER", "provider")]),
        lock_timeout: None,
        persist_log: false,
        worker: Some("mine"),
    };
    let with = ChildEnvironment::new(sources, &TaskName::new("edge").unwrap(), &directory());
    for arguments in ["TF_CLI_ARGS_apply", "TF_CLI_ARGS_plan"] {
        assert_eq!(without.get(arguments), None);
        assert_eq!(
            with.get(arguments),
            Some(OsStr::new("-lock-timeout=60s")),
            "it may follow a worker that was killed and has left a lock"
        );
    }
    assert_eq!(with.get("CTS_WORKER"), Some(OsStr::new("mine")));
}

#[test]
fn a_persistent_log_goes_to_an_absolute_path() {
    let environment = environment(&[("TF_LOG", "ERROR")], &[], &[], true);
    assert_eq!(environment.get("TF_LOG"), Some(OsStr::new("TRACE")));
    assert_eq!(
        environment.get("TF_LOG_PATH"),
        Some(OsStr::new("/srv/cts/sync-tasks/edge/terraform.log"))
    );
}

#[test]
fn a_provider_may_have_a_log_of_its_own() {
    let own = [("TF_LOG", "ERROR"), ("TF_LOG_PATH", "/var/log/edge.log")];
    for persist_log in [false, true] {
        let environment = environment(&[("TF_LOG", "INFO")], &[], &own, persist_log);
        for (name, value) in own {
            assert_eq!(environment.get(name), Some(OsStr::new(value)));
        }
    }
}

#[test]
fn an_existing_user_agent_is_kept() {
    let environment = environment(&[("TF_APPEND_USER_AGENT", "ops/1")], &[], &[], false);
    let agent = environment
        .get("TF_APPEND_USER_AGENT")
        .unwrap()
        .to_str()
        .unwrap();
    assert!(agent.starts_with("ops/1 cts/"));
}

#[test]
fn a_shared_data_directory_is_divided_among_tasks() {
    let shared = environment(&[("TF_DATA_DIR", "/var/tf")], &[], &[], false);
    assert_eq!(
        shared.data_directory(&directory()),
        Path::new("/var/tf/edge")
    );
    for outside in ["../data", "x/../../data"] {
        let shared = environment(&[("TF_DATA_DIR", outside)], &[], &[], false);
        let own = Path::new("/srv/cts/sync-tasks/edge").join(outside);
        assert_eq!(shared.data_directory(&directory()), own.join("edge"));
    }
    let relative = environment(&[("TF_DATA_DIR", ".data")], &[], &[], false);
    assert_eq!(
        relative.data_directory(&directory()),
        Path::new("/srv/cts/sync-tasks/edge/.data")
    );
    let absent = environment(&[], &[], &[], false);
    assert_eq!(
        absent.data_directory(&directory()),
        Path::new("/srv/cts/sync-tasks/edge/.terraform")
    );
}

#[test]
fn debug_output_shows_no_value() {
    let shown = format!(
        "{:?}",
        environment(&[], &[("CONSUL_HTTP_TOKEN", "hunter2")], &[], false)
    );
    assert!(shown.contains("CONSUL_HTTP_TOKEN"));
    assert!(!shown.contains("hunter2"));
}

#[test]
fn a_plan_is_asked_for_without_questions_and_colours_and_applies_nothing() {
    let arguments = Step::Plan.arguments(&Version::new(1, 11, 4));
    assert_eq!(arguments[0], "plan");
    for expected in [
        "-no-color",
        "-input=false",
        "-detailed-exitcode",
        "-lock=true",
    ] {
        assert!(arguments.contains(&expected), "{arguments:?}");
    }
    assert!(!arguments.iter().any(|argument| argument.contains("out=")));
}

#[test]
fn operations_and_refresh_are_as_ever_unless_something_is_said() {
    let usual = Tuning::default();
    for step in [Step::Plan, Step::Apply] {
        assert_eq!(usual.arguments(step), ["-parallelism=10", "-refresh=true"]);
    }
    let tuned = Tuning {
        parallelism: 1,
        refresh: false,
    };
    assert_eq!(
        tuned.arguments(Step::Apply),
        ["-parallelism=1", "-refresh=false"]
    );
    assert_eq!(tuned.arguments(Step::Init), Vec::<String>::new());
}

#[test]
fn a_time_to_wait_for_the_lock_stands_before_what_others_say() {
    for worker in [None, Some("w")] {
        let sources = EnvironmentSources {
            inherited: &InheritedEnvironment::of(&BTreeMap::new()),
            tracing: &[],
            backend: &[],
            task_env: &list(&[("TF_CLI_ARGS_plan", "-lock-timeout=5s")]),
            lock_timeout: Some(Duration::from_millis(1500)),
            persist_log: false,
            worker,
        };
        let environment =
            ChildEnvironment::new(sources, &TaskName::new("edge").unwrap(), &directory());
        let expected = "-lock-timeout=1500ms -lock-timeout=5s";
        assert_eq!(
            environment.get("TF_CLI_ARGS_plan"),
            Some(OsStr::new(expected))
        );
        assert_eq!(
            environment.get("TF_CLI_ARGS_apply"),
            Some(OsStr::new("-lock-timeout=1500ms"))
        );
    }
}

#[test]
fn old_versions_get_the_plugin_flags() {
    assert!(
        Step::Init
            .arguments(&Version::new(0, 14, 11))
            .contains(&"-verify-plugins=true")
    );
    assert!(
        !Step::Init
            .arguments(&Version::new(0, 15, 0))
            .contains(&"-verify-plugins=true")
    );
}
