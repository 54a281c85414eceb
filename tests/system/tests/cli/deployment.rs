//! The files of `deploy`: units of systemd, jobs of Nomad, the configuration of the containers.
//!
//! `scripts/compose-test` and `scripts/nomad-test` run them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cts_testkit::assert_contains;
use hcl::eval::{Context, Evaluate as _};
use hcl::{Block, Body, Expression, Value};
use regex::Regex;
use tokio::process::Command;

use crate::cli::calls::{OURS, Place};

const SERVICES: [&str; 4] = ["watcher", "scheduler", "worker", "gateway"];

/// Longest time that a worker drains in the jobs, in seconds, and what it needs beyond that.
const DRAIN: u64 = 10 * 60;
const MARGIN: u64 = 60;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn read(path: &str) -> String {
    fs::read_to_string(deploy().join(path)).unwrap()
}

#[tokio::test]
async fn systemd_understands_every_line_of_the_units() {
    let place = Place::new();
    let program = place.program(OURS);
    let program = program.to_str().unwrap();
    for (file, unit) in [
        ("cts.service", "cts.service"),
        ("cts@.service", "cts@worker.service"),
    ] {
        let text = read(&format!("systemd/{file}"));
        assert!(text.contains("ExecStart=/usr/local/bin/cts "));
        // The program must exist.
        place.write(file, &text.replace("/usr/local/bin/cts", program));
        let output = Command::new("systemd-analyze")
            .arg("verify")
            .arg(place.path().join(unit))
            .output()
            .await
            .expect("systemd-analyze, of Debian's package systemd");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.is_empty(), "{file}: {said}");
    }
}

#[tokio::test]
async fn the_configuration_of_the_containers_is_valid() {
    let place = Place::new();
    let config = deploy().join("docker/config");
    let shared = format!("-config-dir={}", config.display());
    let own = format!("-config-dir={}", config.join("scheduler").display());
    let modules = deploy().join("docker/modules");
    assert!(modules.join("hello/main.tf").is_file());
    let called = place
        .call(OURS, &["config", "validate", &shared, &own])
        .await;
    assert_eq!(called.code, 0, "{called:?}");
    let called = place.call(OURS, &["config", "validate", &shared]).await;
    assert_eq!(called.code, 0, "{called:?}");
}

#[test]
fn the_image_is_built_with_the_pinned_toolchain_and_a_pinned_terraform() {
    let dockerfile = read("docker/Dockerfile");
    let toolchain = read("../rust-toolchain.toml");
    let channel = Regex::new("channel = \"(.+)\"").unwrap();
    let channel = &channel.captures(&toolchain).unwrap()[1];
    assert_contains(
        &dockerfile,
        [
            format!("rust:{channel}-slim-bookworm"),
            format!("RUSTUP_TOOLCHAIN={channel}"),
        ],
    );
    let version = Regex::new("ARG ENGINE_VERSION=(.+)").unwrap();
    let version = &version.captures(&dockerfile).unwrap()[1];
    let digests = read("docker/engines.sha256");
    assert_contains(
        &digests,
        ["amd64", "arm64"].map(|machine| format!("terraform_{version}_linux_{machine}.zip")),
    );
}

/// A job with the defaults of its variables.
struct Job {
    name: &'static str,
    body: Body,
    variables: BTreeMap<String, Value>,
}

impl Job {
    fn read(name: &'static str) -> Self {
        let body: Body = hcl::from_str(&read(&format!("nomad/{name}.nomad.hcl"))).unwrap();
        let variables = body
            .blocks()
            .filter(|block| block.identifier() == "variable");
        let variables = variables.map(|block| {
            let default = attribute(block, "default").unwrap();
            let name = block.labels()[0].as_str().to_owned();
            (name, default.evaluate(&Context::new()).unwrap())
        });
        Self {
            name,
            variables: variables.collect(),
            body,
        }
    }

    /// The blocks of this kind, however deep.
    fn blocks(&self, kind: &str) -> Vec<&Block> {
        fn gather<'a>(body: &'a Body, kind: &str, found: &mut Vec<&'a Block>) {
            for block in body.blocks() {
                if block.identifier() == kind {
                    found.push(block);
                }
                gather(block.body(), kind, found);
            }
        }
        let mut found = Vec::new();
        gather(&self.body, kind, &mut found);
        found
    }

    /// The configuration of the service, as Nomad writes it with or without Vault.
    fn configuration(&self, vault: bool) -> String {
        let mut variables = self.variables.clone();
        variables.insert("vault".to_owned(), vault.into());
        let mut context = Context::new();
        context.declare_var("var", Value::from_iter(variables));
        let locals = self.blocks("locals")[0];
        let secrets = attribute(locals, "secrets").unwrap();
        let secrets = secrets.evaluate(&context).unwrap();
        context.declare_var("local", Value::from_iter([("secrets", secrets)]));
        let task = self.blocks("task").into_iter();
        let mut task = task.filter(|task| task.labels()[0].as_str() == self.name);
        let template = task.next().unwrap().body().blocks();
        let mut template = template.filter(|block| block.identifier() == "template");
        let data = attribute(template.next().unwrap(), "data").unwrap();
        let text = data.evaluate(&context).unwrap();
        let text = text.as_str().unwrap();
        text.replace("{{ env \"NOMAD_SECRETS_DIR\" }}", "/secrets")
            .replace("{{ env \"NOMAD_PORT_http\" }}", "8558")
            .replace("{{ env \"NOMAD_PORT_metrics\" }}", "9464")
    }
}

fn attribute<'a>(block: &'a Block, key: &str) -> Option<&'a Expression> {
    let mut attributes = block.body().attributes();
    let found = attributes.find(|attribute| attribute.key() == key)?;
    Some(found.expr())
}

/// A number of minutes or seconds.
fn seconds(text: &str) -> u64 {
    let (number, unit) = text.split_at(text.len() - 1);
    number.parse::<u64>().unwrap() * if unit == "m" { 60 } else { 1 }
}

#[tokio::test]
async fn each_job_of_nomad_gives_its_service_a_valid_configuration() {
    for name in SERVICES {
        let job = Job::read(name);
        for vault in [true, false] {
            let text = job.configuration(vault);
            assert!(!text.contains("{{") && !text.contains("${"), "{text}");
            let place = Place::new();
            place.write("cts.hcl", &text);
            let words = ["config", "validate", "-config-file=cts.hcl"];
            let called = place.call(OURS, &words).await;
            assert_eq!(called.code, 0, "{name}: {called:?}\n{text}");
            let words = ["config", "dump", "-config-file=cts.hcl"];
            let dumped = place.call(OURS, &words).await.stdout;
            let roles = ["service_roles = true", "server_roles = true"];
            assert_contains(&dumped, roles);
            assert_contains(&dumped, ["require_auth = true"]);
        }
    }
}

#[test]
fn certificates_of_nomad_have_the_names_by_which_services_are_called() {
    let alternatives = Regex::new("\"alt_names=([^\"]+)\"").unwrap();
    for (name, addresses) in [("scheduler", "schedulers"), ("watcher", "watchers")] {
        let job = Job::read(name);
        let called = job.variables[addresses].as_str().unwrap();
        let (host, _port) = called.split_once(':').unwrap();
        let file = read(&format!("nomad/{name}.nomad.hcl"));
        let names = alternatives.captures(&file).unwrap()[1].to_owned();
        assert!(names.split(',').any(|name| name == host), "{names}: {host}");
        assert!(!job.configuration(true).contains("server_name"), "{name}");
    }
}

#[test]
fn jobs_of_nomad_are_replaced_one_by_one_and_leave_terraform_its_time() {
    for name in SERVICES {
        let job = Job::read(name);
        let update = job.blocks("update")[0];
        let parallel = attribute(update, "max_parallel").unwrap();
        assert_eq!(parallel.to_string(), "1", "{name}");
        assert_eq!(
            job.blocks("check").len(),
            if name == "worker" { 2 } else { 1 }
        );
        let tasks = job.blocks("task");
        let task = tasks.iter().find(|task| task.labels()[0].as_str() == name);
        let Some(Expression::String(limit)) = attribute(task.unwrap(), "kill_timeout") else {
            panic!("{name} has no kill_timeout");
        };
        let least = if name == "worker" { DRAIN + MARGIN } else { 30 };
        assert!(seconds(limit) >= least, "{name}: {limit}");
    }
    let drain = format!("drain_timeout = \"{}m\"", DRAIN / 60);
    let worker = Job::read("worker");
    assert_contains(worker.configuration(true), [drain]);
    let compose = read("docker/docker-compose.yaml");
    assert_contains(
        &compose,
        [format!("stop_grace_period: {}m", (DRAIN + MARGIN) / 60)],
    );
    assert_eq!(worker.blocks("scaling").len(), 1);
}
