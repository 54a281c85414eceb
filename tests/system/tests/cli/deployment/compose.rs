//! The compose file, and the configuration of its containers.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_norway::Value;

use super::{SERVICES, deploy, read};
use crate::cli::calls::{OURS, Place};

/// The services of the compose file, with its anchors in place.
fn services() -> BTreeMap<String, Value> {
    let mut file: Value = serde_norway::from_str(&read("docker/docker-compose.yaml")).unwrap();
    file.apply_merge().unwrap();
    let services = file["services"].as_mapping().unwrap().iter();
    services
        .map(|(name, service)| (name.as_str().unwrap().to_owned(), service.clone()))
        .collect()
}

/// Elements of a list; empty without the list.
fn list<'a>(service: &'a Value, key: &str) -> Vec<&'a str> {
    let values = service.get(key).and_then(Value::as_sequence);
    let values = values.into_iter().flatten();
    values.map(|value| value.as_str().unwrap()).collect()
}

/// The directories of configuration that a service is started with.
pub(super) fn directories(name: &str) -> Vec<String> {
    let services = services();
    let words = list(&services[name], "command");
    let pairs = words.iter().zip(words.iter().skip(1));
    let named = pairs.filter(|(option, _)| **option == "-config-dir");
    named
        .map(|(_, directory)| (*directory).to_owned())
        .collect()
}

#[test]
fn each_container_sees_its_own_files_only() {
    let expected: [(&str, &[&str]); 12] = [
        (
            "certs",
            &[
                "authority",
                "certs-watcher",
                "certs-scheduler",
                "certs-worker",
                "certs-gateway",
                "certs-operator",
                "certs-read",
            ],
        ),
        ("collector", &["../telemetry/otel-collector.yaml"]),
        ("consul", &[]),
        (
            "gateway",
            &["./config/shared", "./config/gateway", "certs-gateway"],
        ),
        ("migrate", &["./config/scheduler", "./modules", "secrets"]),
        (
            "operator",
            &[
                "./config/shared",
                "./config/scheduler",
                "./modules",
                "certs-operator",
                "secrets",
            ],
        ),
        ("postgres", &["postgres", "secrets"]),
        (
            "prometheus",
            &[
                "./prometheus.yaml",
                "../telemetry/alerts.yaml",
                "certs-read",
            ],
        ),
        (
            "scheduler",
            &[
                "./config/shared",
                "./config/scheduler",
                "./modules",
                "certs-scheduler",
                "secrets",
            ],
        ),
        ("secrets", &["secrets"]),
        ("watcher", &["./config/shared", "certs-watcher"]),
        ("worker", &["./config/shared", "certs-worker"]),
    ];
    let services = services();
    let seen = services.iter().map(|(name, service)| {
        let volumes = list(service, "volumes").into_iter();
        let sources = volumes.map(|volume| volume.split(':').next().unwrap());
        (name.as_str(), sources.collect::<Vec<_>>())
    });
    let expected = expected.map(|(name, sources)| (name, sources.to_vec()));
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

#[test]
fn mounted_directories_are_there_and_are_those_of_the_command() {
    for (name, service) in services() {
        let volumes = list(&service, "volumes");
        for volume in &volumes {
            let parts: Vec<_> = volume.split(':').collect();
            if parts[0].starts_with('.') {
                assert!(deploy().join("docker").join(parts[0]).exists(), "{volume}");
                assert_eq!(parts[2], "ro", "{name}: {volume}");
            }
        }
        for directory in directories(&name) {
            let target = format!(":{directory}:ro");
            let mut mounts = volumes.iter().filter(|volume| volume.ends_with(&target));
            assert!(mounts.next().is_some(), "{name}: {directory}");
        }
    }
}

#[tokio::test]
async fn the_configuration_of_each_container_is_valid() {
    let place = Place::new();
    let modules = deploy().join("docker/modules");
    assert!(modules.join("hello/main.tf").is_file());
    super::tls::write_certificates(&place).await;
    for name in SERVICES.into_iter().chain(["migrate"]) {
        let directories = super::tls::copy_configuration(&place, name);
        let words = [
            vec!["config", "validate"],
            directories.iter().map(String::as_str).collect(),
        ];
        let called = place.call(OURS, &words.concat()).await;
        assert_eq!(called.code, 0, "{name}: {called:?}");
    }
}

#[test]
fn images_of_the_files_are_those_with_digests() {
    let known = super::images::names();
    let compose = read("docker/docker-compose.yaml");
    let dockerfile = read("docker/Dockerfile");
    let in_compose = Regex::new(r"\$\{([A-Z]+_IMAGE):-([^}]+)\}").unwrap();
    let in_dockerfile = Regex::new(r"(?m)^ARG ([A-Z]+_IMAGE)=(.+)$").unwrap();
    let mut used = BTreeSet::new();
    let found = in_compose.captures_iter(&compose);
    let found = found.chain(in_dockerfile.captures_iter(&dockerfile));
    // The images of cts are built here, and pulled from nowhere.
    for found in found.filter(|found| !found[1].starts_with("CTS_")) {
        used.insert(found[1].to_owned());
        assert_eq!(known.get(&found[1]).map(String::as_str), Some(&found[2]));
    }
    assert_eq!(used, known.into_keys().collect());
}
