//! Tokens travel in TLS with the files of `deploy` (docs/configuration.md#what-is-not-safe).

use std::fs;
use std::path::Path;

use regex::Regex;
use serde_json::Value;

use super::nomad::Job;
use super::{SERVICES, compose, deploy, read};
use crate::cli::calls::{OURS, Place};

/// The condition that the files of compose leave, inside of one machine (deploy/README.md#compose).
const PLAIN_CONSUL: &str = "Consul on another host is asked in plain HTTP: token and answers can be read and changed on the way; use https:// in consul.address";

/// Certificates of each service in `tls/<service>`, also as the one file that Vault's template makes.
pub(super) async fn write_certificates(place: &Place) {
    let words = [
        "certs",
        "-dir=tls",
        "-domain=cts.internal",
        "-per-role",
        "-local",
    ];
    let called = place.call(OURS, &words).await;
    assert_eq!(called.code, 0, "{called:?}");
    for service in SERVICES {
        let file = |name: &str| place.path().join("tls").join(service).join(name);
        let pair = ["cert.pem", "key.pem"].map(|name| fs::read_to_string(file(name)).unwrap());
        fs::write(file("pair.pem"), pair.concat()).unwrap();
    }
}

/// Copies the directories of a container, with files of this machine, and returns the options that name them.
pub(super) fn copy_configuration(place: &Place, service: &str) -> Vec<String> {
    let directories = compose::directories(service);
    assert!(!directories.is_empty(), "{service}");
    let options = directories.iter().map(|directory| {
        let name = Path::new(directory).file_name().unwrap().to_str().unwrap();
        let copied = format!("{service}/{name}");
        for entry in fs::read_dir(deploy().join("docker/config").join(name)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let text = text.replace("\"/tls/", &format!("\"tls/{service}/"));
            let file = path.file_name().unwrap().to_str().unwrap();
            place.write(&format!("{copied}/{file}"), &text);
        }
        format!("-config-dir={copied}")
    });
    options.collect()
}

/// The settings that are not safe, as `cts doctor` shows them.
async fn unsafe_settings(place: &Place, words: &[String]) -> Vec<String> {
    let words = words.iter().map(String::as_str);
    let words: Vec<_> = ["doctor", "-o=json"].into_iter().chain(words).collect();
    let called = place.call(OURS, &words).await;
    let document: Value = serde_json::from_str(&called.stdout).unwrap();
    let checks = document["checks"].as_array().unwrap().iter();
    let settings: Vec<_> = checks
        .filter(|check| check["check"] == "settings")
        .collect();
    assert!(!settings.is_empty(), "{called:?}");
    let found = settings.into_iter().filter(|check| check["result"] != "ok");
    found
        .map(|check| check["found"].as_str().unwrap().to_owned())
        .collect()
}

fn role(service: &str) -> [String; 2] {
    [
        format!("-role={service}"),
        "-grpc-address=0.0.0.0:8560".to_owned(),
    ]
}

#[tokio::test]
async fn the_sample_of_one_process_is_safe() {
    let place = Place::new();
    write_certificates(&place).await;
    place.write("modules/edge_pool/main.tf", "");
    let text = read("config/cts.hcl");
    let text = text.replace("\"/etc/cts.d/tls/", "\"tls/gateway/");
    let text = text.replace("\"/etc/cts.d/modules/", "\"modules/");
    place.write("cts.hcl", &text);
    let words = ["-config-file=cts.hcl".to_owned()];
    assert_eq!(unsafe_settings(&place, &words).await, Vec::<String>::new());
    // Without TLS the check finds the tokens.
    let plain = Regex::new(r"(?m)^tls \{\n(  .*\n)*\}\n").unwrap();
    place.write("cts.hcl", &plain.replace(&text, ""));
    let found = unsafe_settings(&place, &words).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("tokens travel to the API in plain text"));
}

#[tokio::test]
async fn the_samples_of_four_services_are_safe() {
    let place = Place::new();
    write_certificates(&place).await;
    place.write("shared/services.hcl", &read("config/services.hcl"));
    let gateway = read("config/gateway.hcl");
    let gateway = gateway.replace("/etc/cts.d/gateway/gateway-key", "tls/gateway/key");
    let gateway = gateway.replace("/etc/cts.d/gateway/gateway", "tls/gateway/cert");
    place.write("gateway/gateway.hcl", &gateway);
    place.write("modules/hello/main.tf", "");
    let scheduler = read("config/scheduler.hcl");
    let scheduler = scheduler.replace("/etc/cts.d/modules/", "modules/");
    place.write("scheduler/scheduler.hcl", &scheduler);
    place.write("worker/worker.hcl", &read("config/worker.hcl"));
    // The file that deploy/README.md writes for each service.
    for service in SERVICES {
        let tls = format!("tls/{service}");
        let files = format!(
            "ca_cert = \"{tls}/ca.pem\"\ncert = \"{tls}/cert.pem\"\nkey = \"{tls}/key.pem\""
        );
        place.write(
            &format!("{service}/tls.hcl"),
            &format!("services {{\ntls {{\n{files}\n}}\n}}\n"),
        );
        let own = format!("-config-dir={service}");
        let words = [&["-config-dir=shared".to_owned(), own], &role(service)[..]].concat();
        let found = unsafe_settings(&place, &words).await;
        assert_eq!(found, Vec::<String>::new(), "{service}");
    }
}

#[tokio::test]
async fn the_containers_are_safe_but_for_the_consul_of_their_machine() {
    let place = Place::new();
    write_certificates(&place).await;
    for service in SERVICES {
        let directories = copy_configuration(&place, service);
        let words = [&directories[..], &role(service)[..]].concat();
        let expected: &[&str] = match service {
            "scheduler" => &[],
            _ => &[PLAIN_CONSUL],
        };
        assert_eq!(unsafe_settings(&place, &words).await, expected, "{service}");
    }
}

#[tokio::test]
async fn the_jobs_of_nomad_are_safe() {
    let place = Place::new();
    write_certificates(&place).await;
    for service in SERVICES {
        for vault in [true, false] {
            place.write("cts.hcl", &Job::read(service).local_configuration(vault));
            let words = [&["-config-file=cts.hcl".to_owned()], &role(service)[..]].concat();
            let found = unsafe_settings(&place, &words).await;
            assert_eq!(found, Vec::<String>::new(), "{service}, Vault: {vault}");
        }
    }
}

#[test]
fn nothing_calls_the_api_in_plain_text() {
    let plain =
        Regex::new(r"http://[^\s/]*:(8558|\$\{?CTS_API_PORT|\$\{?NOMAD_PORT_http)").unwrap();
    let mut seen = 0;
    let mut directories = vec![deploy()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                assert!(!plain.is_match(&text), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
