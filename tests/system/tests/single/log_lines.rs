//! The log, line by line, next to the lines that filters of the original match. About `cts start` over a file
//! whatever the shape of this run is.

use std::sync::LazyLock;

use cts_testkit::{ConsulAgent, assert_contains};
use cts_tests::{Backend, Instance, Site, task};
use regex::Regex;

/// Lines of the original from a start over a change and a failure to the end, in its order, with the keys that it has.
/// The registration has its own thread there, too.
const IN_ORDER: [&str; 22] = [
    concat!("[INFO]  cli: ", env!("CARGO_PKG_VERSION")),
    "[INFO]  ctrl: setting up controller: type=daemon",
    "[INFO]  ctrl: initializing Consul client and testing connection",
    "[INFO]  driver.terraform: skipping install, terraform already exists: tf_version=",
    "[INFO]  cli: initializing controller",
    "[INFO]  ctrl: initializing driver factory",
    "[INFO]  api: starting server: port=",
    "[INFO]  ctrl: executing all tasks once through",
    "[INFO]  ctrl: running task once: task_name=pool",
    "[INFO]  client.terraformcli: Terraform logging is set, Terraform logs will output with Consul-Terraform-Sync logs",
    "[INFO]  driver.terraform: retrieved 0 Terraform handlers for task: task_name=pool",
    "[INFO]  ctrl: task completed: task_name=pool",
    "[INFO]  ctrl: all tasks completed once",
    "[INFO]  ctrl: start task monitoring",
    "[INFO]  tasksmanager: executing task: task_name=pool",
    "[INFO]  tasksmanager: task completed: task_name=pool",
    "[INFO]  tasksmanager: executing task: task_name=pool",
    "[WARN]  retry: retrying: attempt_number=2 description=\"ApplyTask pool\"",
    "[ERROR] tasksmanager: error applying task: task_name=pool",
    "[ERROR] tasksmanager: error running task: task_name=pool",
    "[INFO]  cli: signal received to initiate graceful shutdown: signal=terminated",
    "[INFO]  api: shutdown api server",
];

const AT_THE_END: [&str; 3] = [
    "[INFO]  tasksmanager: stop monitoring tasks",
    "[INFO]  tasksmanager: stopping dependency monitoring",
    "[INFO]  cli: graceful shutdown",
];

const REGISTRATION: [&str; 7] = [
    "[INFO]  api: starting server: port=",
    "[INFO]  registration: registering Consul-Terraform-Sync as a service with Consul: id=",
    "[INFO]  registration: Consul-Terraform-Sync registered as a service with Consul: id=",
    "[INFO]  registration: to view registered services, navigate to the Services section in the Consul UI: id=",
    "[INFO]  tasksmanager: stopping dependency monitoring",
    "[INFO]  registration: deregistering Consul-Terraform-Sync from Consul: id=",
    "[INFO]  registration: Consul-Terraform-Sync deregistered from Consul: id=",
];

const SCHEDULE: [&str; 5] = [
    "[INFO]  tasksmanager: scheduled task next run time: task_name=nightly wait_time=",
    "[INFO]  ctrl: running task once: task_name=nightly",
    "[INFO]  tasksmanager: scheduled task triggered but had no changes: task_name=nightly",
    "[INFO]  tasksmanager: stop monitoring tasks",
    "[INFO]  tasksmanager: stopping scheduled task: task_name=nightly",
];

/// Names of the parts that do their work one after another.
const SEQUENTIAL: [&str; 9] = [
    "cli",
    "ctrl",
    "api",
    "config",
    "driver.terraform",
    "client.terraformcli",
    "tasksmanager",
    "retry",
    "templates.tftmpl",
];

/// The lines without what differs between two runs, and of a long value the first line only.
fn lasting(output: &str, site: &Site) -> Vec<String> {
    static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let rules = [
            (r"^\d{4}-\S+(Z|[+-]\d{4}) ", "TIME "),
            (
                r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
                "ID",
            ),
            (
                r"\b(after|took|wait_time)=[0-9.]+(ns|µs|ms|s)",
                "$1=DURATION",
            ),
            (r"retry_after=\S+", "retry_after=DURATION"),
            (r"port=\d+", "port=PORT"),
            (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
            (
                r"tf_version=\S+ install_path=\S+ path=\S+",
                "tf_version=VERSION install_path=DIRECTORY path=FILE",
            ),
            (r"cli: \d+\.\d+\.\d+", "cli: VERSION"),
            (r"\bversion=\d+\.\d+\.\d+", "version=VERSION"),
            (r"\b(worker\.)?id=\S+", "${1}id=ID"),
            (r"(error|stderr)=\S.*", "$1=ERROR"),
        ];
        rules
            .map(|(pattern, text)| (Regex::new(pattern).unwrap(), text))
            .into()
    });
    // Not the output of Terraform, which is logged here, too.
    static IS_INFO: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\d{4}-\S+ \[(INFO|WARN|ERROR)\] ").unwrap());
    let mut lasting = Vec::new();
    let mut first_of_value = false;
    for line in output.lines() {
        let is_value = line.starts_with("  |");
        if is_value && !first_of_value {
            continue;
        }
        first_of_value = !is_value && line.starts_with("  ") && line.ends_with('=');
        if !is_value && !first_of_value && !IS_INFO.is_match(line) {
            continue;
        }
        let mut line = line.replace(&site.path().display().to_string(), "SITE");
        for (pattern, text) in VARYING.iter() {
            line = pattern.replace_all(&line, *text).into_owned();
        }
        lasting.push(line);
    }
    lasting
}

fn part_of(line: &str) -> &str {
    let rest = line.get("TIME [INFO]  ".len()..).unwrap_or_default();
    rest.split_once(": ").map_or("", |(name, _message)| name)
}

#[tokio::test]
async fn a_start_a_change_a_failure_and_an_end_have_the_lines_of_the_original() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("pool");
    let pool = task("pool", "./modules/pool", &["web"], "");
    site.configure(&consul.address(), Backend::Local, &pool);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start_embedded(&site).await;
    cts.api.wait_for_events("pool", 1).await;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    cts.api.wait_for_events("pool", 2).await;
    consul
        .register_service("web", "web-1", 1, &[], &["broken"])
        .await;
    let events = cts.api.wait_for_events("pool", 3).await;
    let error = events[0]["error"]["message"].as_str().unwrap();
    assert_contains(
        error,
        [
            "retry attempt #2 failed 'error tf-apply for 'pool': ",
            "': retry attempt #1 failed 'error tf-apply for 'pool': ",
            "': the attempt before failed 'error tf-apply for 'pool': ",
        ],
    );
    cts.until_logged("error running task").await;
    cts.until_logged("registered as a service").await;
    let exit = cts.terminate().await;
    exit.assert_code(0);
    exit.logs_in_order(&[&IN_ORDER[..], &AT_THE_END[..]].concat());
    exit.logs_in_order(&REGISTRATION);
    exit.says(["could not apply changes for task pool: retry attempt #2 failed '"]);
    let last = exit.output.lines().last().unwrap_or_default();
    assert!(last.ends_with("[INFO]  cli: graceful shutdown"), "{last}");

    let lines = lasting(&exit.output, &site);
    let is_sequential =
        |line: &&String| line.starts_with("  ") || SEQUENTIAL.contains(&part_of(line));
    let (mut shown, mut others): (Vec<_>, Vec<_>) = lines.iter().partition(is_sequential);
    others.sort();
    shown.extend(others);
    let shown: Vec<&str> = shown
        .into_iter()
        .map(String::as_str)
        .filter(|line| !line.contains("not safe: ") && !line.contains("[WARN]  config: "))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[tokio::test]
async fn a_schedule_has_the_lines_of_the_original() {
    let consul = ConsulAgent::start().await;
    let site = Site::new();
    site.write_steps("nightly");
    let nightly = r#"
    task {
      name   = "nightly"
      module = "./modules/nightly"
      condition "schedule" { cron = "* * * * * * *" }
      module_input "services" { names = ["web"] }
    }
    "#;
    site.configure(&consul.address(), Backend::Local, nightly);
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let cts = Instance::start_embedded(&site).await;
    cts.api.wait_for_events("nightly", 1).await;
    cts.until_logged("had no changes").await;
    // The newest event is that of a tick, which has no run.
    let events = cts.api.wait_for_events("nightly", 2).await;
    assert_eq!(events[0]["success"], true);
    assert_eq!(events[0].get("run_id"), None);
    let exit = cts.terminate().await;
    exit.assert_code(0);
    exit.logs_in_order(&SCHEDULE);
}

/// A configuration that ends the start, and the last two lines of the log that filters of the original match.
#[tokio::test]
async fn a_configuration_that_cannot_be_used_ends_with_an_error_line() {
    let cases: [(&str, &[&str]); 4] = [
        (
            "frob = 1\n",
            &[
                "[ERROR] cli: error building configuration: error=\"'cts.hcl' has invalid keys: frob\"",
            ],
        ),
        (
            "task {\n",
            &[
                "[ERROR] config: failed decoding content from file: file_path=cts.hcl",
                "[ERROR] cli: error building configuration: error=",
            ],
        ),
        (
            "log_level = \"loud\"\n",
            &["[ERROR] cli: error setting up logging: error=\"Invalid log level: loud\""],
        ),
        (
            "task {\n name = \"t\"\n module = \"./m\"\n}\ntask {\n name = \"t\"\n module = \"./m\"\n}\n",
            &["[ERROR] cli: error validating configuration: error=\"duplicate task name: t\""],
        ),
    ];
    for (text, expected) in cases {
        let site = Site::new();
        site.write("m/main.tf", "variable \"services\" {}\n");
        site.write("cts.hcl", text);
        let exit = site
            .run_cts(cts_testkit::free_port(), &["-once"])
            .wait()
            .await;
        exit.assert_code(15);
        exit.logs_in_order(expected);
        let last = exit.output.lines().last().unwrap_or_default();
        assert!(last.contains("[ERROR] cli: "), "{}", exit.output);
        assert!(last.ends_with("code=configuration-invalid"), "{last}");
    }
}

#[tokio::test]
async fn an_unknown_time_zone_is_one_warning_that_names_it() {
    let consul = ConsulAgent::start().await;
    let mut site = Site::new();
    site.set_environment("TZ", "Europe/Berln");
    site.configure(&consul.address(), Backend::Local, "");
    let cts = Instance::start_embedded(&site).await;
    let output = cts.output();
    let warnings = output.lines().filter(|line| line.contains("Europe/Berln"));
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{output}");
    assert!(warnings[0].contains("[WARN]  cli: the environment variable TZ names no time zone"));
    cts.stop().await;
}
