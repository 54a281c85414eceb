//! docs/compatibility.md is true: each row that names a code or a message is tried.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use cts_testkit::{ConsulAgent, eventually, terraform_path};
use cts_tests::{DEADLINE, Instance, LOCAL_BACKEND, RECORDER, Site, task};
use serde_json::{Value, json};

use crate::api::wire::{Answer, Request as HttpRequest};
use crate::cli::calls::Place;

mod checks;
mod files;
mod page;

use checks::{CHECKS, Check};
use files::FILES;
use page::{Row, repository, rows};

/// The checks of a row.
fn checks_of(row: &Row) -> Vec<&'static Check> {
    let checks = CHECKS.iter().filter(|(begin, _)| row.begins(begin));
    checks.flat_map(|(_, checks)| *checks).collect()
}

/// Each check with the row that it tries.
fn tried() -> Vec<(Row, Vec<&'static Check>)> {
    let rows = rows().into_iter().map(|row| {
        let checks = checks_of(&row);
        (row, checks)
    });
    rows.collect()
}

#[test]
fn each_row_that_names_a_result_has_a_check() {
    let rows = rows();
    let unchecked = rows
        .iter()
        .filter(|row| row.names_results() && checks_of(row).is_empty());
    let unchecked: Vec<String> = unchecked
        .map(|row| format!("{:?} {:?} {}", row.codes(), row.messages(), row.text()))
        .collect();
    assert!(
        unchecked.is_empty(),
        "rows without a check:\n{}",
        unchecked.join("\n")
    );
    for (begin, checks) in CHECKS {
        let found = rows.iter().filter(|row| row.begins(begin)).count();
        assert_eq!(found, 1, "rows that begin with {begin:?}");
        assert!(!checks.is_empty(), "{begin}");
    }
}

#[test]
fn each_test_that_a_row_relies_on_is_there() {
    for check in CHECKS.iter().flat_map(|(_, checks)| *checks) {
        let Check::Test(file, name) = check else {
            continue;
        };
        let text = fs::read_to_string(repository().join(file)).unwrap_or_default();
        assert!(
            text.contains(&format!("fn {name}(")),
            "{file} has no {name}"
        );
    }
}

/// Asserts that the row names the code, or one of the texts.
#[track_caller]
fn assert_named(row: &Row, code: u16, texts: &[&str]) {
    let messages = row.messages();
    let mut pairs = texts
        .iter()
        .flat_map(|text| messages.iter().map(move |named| (text, named)));
    let is_named = row.codes().contains(&code)
        || pairs.any(|(text, named)| named.contains(text.trim()) || text.contains(named));
    assert!(
        is_named,
        "neither {code} nor {texts:?} is in {}",
        row.text()
    );
}

#[tokio::test]
async fn each_command_line_ends_as_its_row_says() {
    let place = Place::new();
    for (path, text) in FILES {
        place.write(path, text);
    }
    for (row, checks) in tried() {
        for check in checks {
            let Check::Call(name, words, code, texts) = check else {
                continue;
            };
            assert_named(&row, u16::try_from(*code).unwrap(), texts);
            let words: Vec<&str> = words.split(' ').collect();
            let called = place.call(name, &words).await;
            assert_eq!(called.code, *code, "{words:?}: {called:?}");
            let output = called.stdout + &called.stderr;
            for text in *texts {
                assert!(output.contains(text), "{text:?} is missing: {output}");
            }
        }
    }
}

/// A Terraform whose applies take eleven seconds that no signal shortens, once there is a file `slow`.
fn write_slow_terraform(site: &Site) {
    let terraform = terraform_path();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" apply \"*)\n  if [ -e {slow} ]; then\n    trap '' INT\n    touch {working}\n    sleep 11\n  fi\nesac\n\
         exec {terraform} \"$@\"\n",
        slow = site.path().join("slow").display(),
        working = site.path().join("working").display(),
        terraform = terraform.display(),
    );
    site.write("bin/terraform", &script);
    let path = site.path().join("bin/terraform");
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// A daemon with a TLS file of Vault that is missing.
async fn daemon(site: &Site, consul: &ConsulAgent) -> Instance {
    write_slow_terraform(site);
    site.write("modules/pool/main.tf", RECORDER);
    let vault = "vault {\n  address = \"https://127.0.0.1:1\"\n  token = \"t\"\n  tls { ca_cert = \"gone.pem\" }\n}\n";
    let pool = task("pool", "./modules/pool", &["web"], "");
    let driver = format!("driver \"terraform\" {{\n  path = \"./bin\"\n  {LOCAL_BACKEND}\n}}");
    site.write_configuration(&consul.address(), &driver, &(vault.to_owned() + &pool));
    let daemon = Instance::start_embedded(site).await;
    daemon.api.wait_for_events("pool", 1).await;
    daemon
}

async fn send(daemon: &Instance, line: &str, body: &str) -> Answer {
    let (method, target) = line.split_once(' ').unwrap();
    let mut request = HttpRequest::new(method, target);
    if !body.is_empty() {
        request = request
            .header("Content-Type", "application/json")
            .body(body);
    }
    request.send(daemon.api.address()).await
}

#[tokio::test]
async fn a_daemon_answers_and_logs_as_the_rows_say() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "web-1", 1, &[], &[]).await;
    let site = Site::new();
    let daemon = daemon(&site, &consul).await;
    for (row, checks) in tried() {
        for check in checks {
            let Check::Request(line, body, status, texts) = check else {
                continue;
            };
            assert_named(&row, *status, texts);
            let answer = send(&daemon, line, body).await;
            assert_eq!(answer.status, *status, "{line} {body}: {answer}");
            for text in *texts {
                assert!(
                    answer.text().contains(text),
                    "{text:?} is missing: {answer}"
                );
            }
        }
    }

    // `module_input.services` with names and a regexp: the latter is watched and answered.
    let both = r#"{"task":{"name":"both","enabled":false,"module":"./modules/pool","condition":{"consul_kv":{"path":"k","use_as_module_input":false}},"module_input":{"services":{"names":["web"],"regexp":"^b"}}}}"#;
    let made = send(&daemon, "POST /v1/tasks", both).await.expect(201);
    let watched = &made["task"]["module_input"]["services"];
    assert_eq!(
        (&watched["regexp"], &watched["names"]),
        (&json!("^b"), &Value::Null)
    );

    let log = daemon.output();
    for line in [
        "client.terraformcli: Terraform output is muted",
        "driver.terraform: retrieved 0 Terraform handlers for task: task_name=pool",
        "[ERROR] api.createtask: bad request: request_id=",
    ] {
        assert!(log.contains(line), "{line:?} is missing: {log}");
    }

    // An end that takes more than ten seconds.
    site.write("slow", "");
    consul.register_service("web", "web-2", 2, &[], &[]).await;
    let working = site.path().join("working");
    eventually(DEADLINE, async || fs::metadata(&working)).await;
    daemon.terminate().await.assert_code(12);
}
