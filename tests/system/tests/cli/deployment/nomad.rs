//! The jobs of Nomad.

use std::collections::BTreeMap;

use cts_testkit::assert_contains;
use hcl::eval::{Context, Evaluate as _};
use hcl::{Block, Body, Expression, Value};
use regex::Regex;

use super::tls::write_certificates;
use super::{SERVICES, read};
use crate::cli::calls::{OURS, Place};

/// Longest time that a worker drains in the jobs, in seconds, and what it needs beyond that.
const DRAIN: u64 = 10 * 60;
const MARGIN: u64 = 60;

/// A job with the defaults of its variables.
pub(super) struct Job {
    name: &'static str,
    body: Body,
    variables: BTreeMap<String, Value>,
}

impl Job {
    pub(super) fn read(name: &'static str) -> Self {
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

    /// The names that expressions of the job can have, with or without Vault. Variables of Nomad stay as they are.
    fn context(&self, vault: bool) -> Context<'_> {
        let mut variables = self.variables.clone();
        variables.insert("vault".to_owned(), vault.into());
        let mut context = Context::new();
        context.declare_var("var", Value::from_iter(variables));
        let locals = self.blocks("locals")[0];
        let secrets = attribute(locals, "secrets").unwrap();
        let secrets = secrets.evaluate(&context).unwrap();
        let mut values = vec![("secrets", secrets)];
        if let Some(ca) = attribute(locals, "ca") {
            values.push(("ca", ca.evaluate(&context).unwrap()));
        }
        context.declare_var("local", Value::from_iter(values));
        for name in ["NOMAD_TASK_DIR", "NOMAD_PORT_grpc", "NOMAD_PORT_http"] {
            context.declare_var(name, format!("${{{name}}}"));
        }
        context
    }

    /// The command of the check of the service.
    fn check(&self, vault: bool) -> String {
        let checks = self.blocks("check").into_iter();
        let args = checks.filter_map(|check| attribute(check, "args"));
        let args: Vec<_> = args
            .map(|args| args.evaluate(&self.context(vault)).unwrap())
            .collect();
        assert_eq!(args.len(), 1, "{}: {args:?}", self.name);
        let words = args[0].as_array().unwrap().iter();
        words
            .map(|word| word.as_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The configuration of the service, with certificates of this machine in `tls/<service>`.
    pub(super) fn local_configuration(&self, vault: bool) -> String {
        let directory = if vault { "/secrets" } else { self.secrets() };
        let own = format!("\"tls/{}/", self.name);
        let text = self.configuration(vault);
        text.replace(&format!("\"{directory}/"), &own)
    }

    /// The directory of the secrets on a client, without Vault.
    fn secrets(&self) -> &str {
        self.variables["secrets"].as_str().unwrap()
    }

    /// The configuration of the service, as Nomad writes it with or without Vault.
    fn configuration(&self, vault: bool) -> String {
        let context = self.context(vault);
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
            let text = job.local_configuration(vault);
            assert!(!text.contains("{{") && !text.contains("${"), "{text}");
            let place = Place::new();
            write_certificates(&place).await;
            place.write("cts.hcl", &text);
            let words = ["config", "validate", "-config-file=cts.hcl"];
            let called = place.call(OURS, &words).await;
            assert_eq!(called.code, 0, "{name}: {called:?}\n{text}");
            let words = ["config", "dump", "-config-file=cts.hcl"];
            let dumped = place.call(OURS, &words).await.stdout;
            assert_eq!(text.contains("\ntls {"), name == "gateway", "{text}");
            let roles = ["service_roles = true", "server_roles = true"];
            assert_contains(&dumped, roles);
            assert_contains(&dumped, ["require_auth = true"]);
        }
    }
}

#[tokio::test]
async fn workers_of_nomad_get_settings_of_their_own() {
    let provider = "terraform_provider \"lbx\" {\n  token = \"{{ env \\\"LBX_TOKEN\\\" }}\"\n}\n";
    let mut job = Job::read("worker");
    let settings = format!("{}\n{provider}", read("config/worker.hcl"));
    job.variables
        .insert("settings".to_owned(), settings.clone().into());
    let contents = job.blocks("content").into_iter();
    let content = contents.filter(|content| {
        attribute(content, "destination").is_some_and(|at| at.to_string().contains("settings.hcl"))
    });
    let content: Vec<_> = content.collect();
    assert_eq!(content.len(), 1);
    // Nomad leaves dynamic values of cts as they are.
    let delimiter = attribute(content[0], "left_delimiter").unwrap();
    assert_ne!(delimiter.to_string(), "\"{{\"");
    let data = attribute(content[0], "data").unwrap();
    let data = data.evaluate(&job.context(false)).unwrap();
    assert_eq!(data.as_str(), Some(settings.as_str()));
    let place = Place::new();
    write_certificates(&place).await;
    place.write("local/cts.hcl", &job.local_configuration(false));
    place.write("local/settings.hcl", &settings);
    let words = ["config", "validate", "-config-dir=local"];
    let called = place.call(OURS, &words).await;
    assert_eq!(called.code, 0, "{called:?}");
    let dumped = place.call(OURS, &["config", "dump", "-config-dir=local"]);
    assert_contains(&dumped.await.stdout, ["terraform_provider \"lbx\""]);
}

#[test]
fn certificates_of_nomad_have_the_names_by_which_services_are_called() {
    let alternatives = Regex::new("\"alt_names=([^\"]+)\"").unwrap();
    let addresses = ["schedulers", "watchers"].map(|variable| {
        let job = Job::read("gateway");
        let address = job.variables[variable].as_str().unwrap();
        address.split_once(':').unwrap().0.to_owned()
    });
    let [scheduler, watcher] = &addresses;
    for (name, host) in [
        ("scheduler", scheduler.as_str()),
        ("watcher", watcher),
        ("gateway", "cts-gateway.service.consul"),
    ] {
        let job = Job::read(name);
        let file = read(&format!("nomad/{name}.nomad.hcl"));
        let names = alternatives.captures(&file).unwrap()[1].to_owned();
        assert!(names.split(',').any(|name| name == host), "{names}: {host}");
        assert!(!job.configuration(true).contains("server_name"), "{name}");
    }
}

#[test]
fn checks_of_nomad_ask_the_service_with_its_authority() {
    for name in SERVICES {
        for vault in [true, false] {
            let check = Job::read(name).check(vault);
            let expected = match (name, vault) {
                ("gateway", true) => {
                    "-ca-cert ${NOMAD_SECRETS_DIR}/ca.pem https://127.0.0.1:${NOMAD_PORT_http}"
                }
                ("gateway", false) => {
                    "-ca-cert /etc/cts.d/gateway/ca.pem https://127.0.0.1:${NOMAD_PORT_http}"
                }
                _ => "-config-dir ${NOMAD_TASK_DIR} 127.0.0.1:${NOMAD_PORT_grpc}",
            };
            let expected = format!("-c /usr/local/bin/cts health {expected} || exit 2");
            assert_eq!(check, expected, "{name}");
        }
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
