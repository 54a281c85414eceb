//! The log, as a collector takes it apart: each line into level, name and message, and a filter for each line that
//! the original has.

mod table;

use std::fmt::Write as _;

use cts_testkit::ConsulAgent;
use cts_tests::{Site, task};
use nix::sys::signal::Signal;
use regex::Regex;
use reqwest::Method;
use serde_json::json;

use self::table::{CHANGE, END, FAILURE, INSPECT, ONCE, REQUESTS, START};
use super::site::{Server, blocks, driver, run, site, start};
use crate::any_shape::registry_module::{registry, use_registry};

/// One line, taken apart.
struct Line<'a> {
    level: &'a str,
    name: &'a str,
    message: &'a str,
}

/// Takes the log apart. After the warnings about the configuration, all of it is lines of the form of the original,
/// or below one.
fn lines(output: &str) -> Vec<Line<'_>> {
    let form = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (?<level>\[[A-Z]+\] {1,2})(?<name>[A-Za-z_.]+): (?<message>.*)$";
    let form = Regex::new(form).unwrap();
    let mut lines = Vec::new();
    for line in output.lines() {
        let Some(parts) = form.captures(line) else {
            let is_below = lines.is_empty() || line.starts_with("  ");
            assert!(is_below, "not the form of a line: {line:?}");
            continue;
        };
        let level = parts.name("level").unwrap().as_str();
        assert_eq!(level.len(), "[ERROR] ".len(), "not padded: {line}");
        lines.push(Line {
            level: level.trim().trim_matches(['[', ']']),
            name: parts.name("name").unwrap().as_str(),
            message: parts.name("message").unwrap().as_str(),
        });
    }
    lines
}

/// Filters that let no line pass.
fn unmatched(output: &str, filters: &[&'static str]) -> Vec<&'static str> {
    let lines = lines(output);
    let mut faults: Vec<_> = filters
        .iter()
        .flat_map(|text| text.trim().lines())
        .collect();
    faults.retain(|filter| {
        let columns: Vec<&str> = filter.splitn(3, ' ').collect();
        let [level, name, message] = columns[..] else {
            panic!("{filter}");
        };
        let message = Regex::new(message).unwrap();
        let passes = |line: &Line<'_>| {
            line.level == level && line.name == name && message.is_match(line.message)
        };
        !lines.iter().any(passes)
    });
    faults
}

#[track_caller]
fn assert_matched(output: &str, filters: &[&'static str]) {
    let faults = unmatched(output, filters);
    let mut text = String::new();
    for fault in &faults {
        writeln!(text, "no line passes {fault}").unwrap();
    }
    assert!(faults.is_empty(), "{text}in\n{output}");
}

const NIGHTLY: &str = "task {\n name = \"nightly\"\n module = \"./module\"\n condition \"schedule\" { cron = \"0 0 3 * * * *\" }\n \
                       module_input \"services\" { names = [\"web\"] }\n buffer_period { min = \"5s\" }\n}\n";

#[tokio::test]
async fn a_daemon() {
    let web = task("web", "./modules/web", &["web"], "");
    let server = Server::start_at(|site| site.write_steps("web"), &format!("{web}{NIGHTLY}")).await;
    server.process.until_logged("registered as a service").await;
    let consul = &server.consul;
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    server
        .process
        .until_logged("tasksmanager: task completed: task_name=web")
        .await;

    let patch = async |query: &str, enabled: bool| {
        let path = format!("/v1/tasks/web{query}");
        let body = json!({"enabled": enabled});
        assert_eq!(server.send(Method::PATCH, &path, Some(body)).await.0, 200);
    };
    patch("?run=inspect", true).await;
    patch("", false).await;
    patch("", true).await;
    server.site.write("lacking/main.tf", "locals {}\n");
    for (query, name, module) in [
        ("", "web", "./module"),
        ("?run=now", "made", "./lacking"),
        ("?run=inspect", "made", "./lacking"),
    ] {
        let condition = json!({"services": {"names": ["web"]}});
        let task = json!({"task": {"name": name, "module": module, "condition": condition}});
        let path = format!("/v1/tasks{query}");
        let (status, answer) = server.send(Method::POST, &path, Some(task)).await;
        assert!(status >= 400, "{query}: {answer}");
    }

    consul
        .register_service("web", "web-1", 1, &[], &["broken"])
        .await;
    server.process.until_logged("error running task").await;
    server.process.signal(Signal::SIGINT);
    let exit = server.process.wait().await;
    exit.assert_code(0);
    assert_matched(&exit.output, &[START, CHANGE, REQUESTS, FAILURE, END]);
    exit.says([
        "could not apply changes for task web: retry attempt #2 failed 'error tf-apply for 'web': ",
        "retry attempt #1 failed 'error tf-apply for 'web': ",
    ]);
    let of_end = ["[INFO]  tasksmanager: stopping scheduled task: task_name=nightly"];
    exit.says(of_end);
}

#[tokio::test]
async fn a_daemon_without_tasks() {
    let server = Server::start_with("").await;
    let exit = server.end().await;
    let filters = "
INFO ctrl ^no tasks configured$
INFO ctrl ^start task monitoring$
INFO cli ^graceful shutdown$
";
    assert_matched(&exit.output, &[filters]);
}

/// A site whose task `web` has run before, with another root module.
async fn passes(more: &str) -> (Site, ConsulAgent) {
    let consul = ConsulAgent::start().await;
    let web = task("web", "./module", &["web"], "");
    let site = site(&(blocks(&consul) + &driver(more) + &web));
    (site, consul)
}

#[tokio::test]
async fn a_single_pass() {
    let (site, _consul) = passes("log = true\n  persist_log = true").await;
    site.write("work/web/main.tf", "# another one\n");
    let exit = start(&site, &["-once"]).await;
    exit.assert_code(0);
    let output = own_lines(&exit.output);
    let filters = "
INFO client.terraformcli ^Terraform logging is set, Terraform logs will output with Consul-Terraform-Sync logs
INFO client.terraformcli ^persisting Terraform logs on disk: logPath=/
INFO templates.tftmpl ^overwriting file in root module for task: file_name=main.tf task_name=web$
";
    assert_matched(&output, &[ONCE, filters]);
    assert!(
        output
            .trim_end()
            .ends_with("[INFO]  cli: graceful shutdown")
    );
    for absent in ["api: starting server", "registration: "] {
        assert!(!output.contains(absent), "{absent} is in\n{output}");
    }
}

/// Without the output of Terraform.
fn own_lines(output: &str) -> String {
    let own = output.lines().filter(|line| line.starts_with("20"));
    own.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn an_inspection() {
    let (site, _consul) = passes("").await;
    let exit = start(&site, &["-inspect"]).await;
    exit.assert_code(0);
    assert_matched(&exit.output, &[INSPECT]);
    exit.says(["Plan: 1 to add, 0 to change, 0 to destroy."]);
    let last = exit.output.lines().last().unwrap_or_default();
    assert!(last.ends_with("[INFO]  cli: graceful shutdown"), "{last}");
}

#[tokio::test]
async fn a_pass_without_tasks() {
    let consul = ConsulAgent::start().await;
    for mode in ["-once", "-inspect"] {
        let site = site(&(blocks(&consul) + &driver("")));
        let exit = start(&site, &[mode]).await;
        exit.assert_code(0);
        let filters = "
INFO ctrl ^no tasks configured$
INFO cli ^graceful shutdown$
";
        assert_matched(&exit.output, &[filters]);
    }
}

#[tokio::test]
async fn a_failed_pass() {
    let consul = ConsulAgent::start().await;
    consul
        .register_service("web", "web-1", 1, &[], &["broken"])
        .await;
    let web = task("web", "./modules/web", &["web"], "");
    let site = site(&(blocks(&consul) + &driver("") + &web));
    site.write_steps("web");
    let exit = start(&site, &["-once"]).await;
    exit.assert_code(11);
    let filters = r"
ERROR tasksmanager ^error running task: task_name=web\b
INFO ctrl ^attempted to run all tasks once
ERROR cli ^error running controller: error=
";
    assert_matched(&exit.output, &[filters]);
    exit.says(["could not apply changes for task web: error tf-apply for 'web': "]);
}

/// The module comes from a registry, so that its variables are not known before the run.
#[tokio::test]
async fn a_module_without_the_variable_of_the_condition() {
    let consul = ConsulAgent::start().await;
    let web = task("web", "acme/pool/cts", &["web"], "version = \"1.0.0\"");
    let mut site = site(&(blocks(&consul) + &driver("") + &web));
    site.write("published/main.tf", "locals {}\n");
    let (address, _serving) = registry(&site.path().join("published")).await;
    use_registry(&mut site, address);
    let process = run(&site, &[]);
    process.until_logged("error initializing task").await;
    let exit = process.terminate().await;
    let filters = r"
ERROR ctrl ^error initializing task: task_name=web\b
";
    assert_matched(&exit.output, &[filters]);
    exit.says(["module for task \"web\" is missing the \"services\" variable"]);
}

#[tokio::test]
async fn the_zone_of_a_line() {
    for (zone, shown) in [("UTC", "Z"), ("XYZ-2", "\\+0200"), ("XYZ5", "-0500")] {
        let mut site = site("frob = 1\n");
        site.set_environment("TZ", zone);
        let exit = start(&site, &[]).await;
        let form = format!(r"^\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}{shown} \[ERROR\] cli: ");
        let last = exit.output.lines().last().unwrap_or_default();
        assert!(Regex::new(&form).unwrap().is_match(last), "{zone}: {last}");
    }
}
