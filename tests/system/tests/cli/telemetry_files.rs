//! Dashboard, alerts and scrape configuration in deploy/telemetry name metrics and sections that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cts_testkit::promtool_path;
use cts_tests::documented_metrics;
use regex::Regex;
use serde_json::Value;
use tokio::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

fn yaml(path: &str) -> Value {
    serde_norway::from_str(&read(path)).unwrap()
}

/// The alerts, by name, with their rules.
fn alerts() -> Vec<(String, Value)> {
    let file = yaml("deploy/telemetry/alerts.yaml");
    let groups = file["groups"].as_array().unwrap();
    let rules = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap());
    rules
        .map(|rule| (rule["alert"].as_str().unwrap().to_owned(), rule.clone()))
        .collect()
}

/// All queries of the dashboard.
fn queries() -> Vec<String> {
    let dashboard: Value =
        serde_json::from_str(&read("deploy/telemetry/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    targets
        .flatten()
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .collect()
}

/// Names of metrics in a query: those of cts, of the semantic conventions and of the process.
fn names(query: &str) -> BTreeSet<String> {
    let name =
        Regex::new(r"\b(?:cts|db_client|http_server|rpc_server|process)_[a-z0-9_]+").unwrap();
    name.find_iter(query)
        .map(|found| found.as_str().to_owned())
        .collect()
}

/// Whether a name is that of a documented metric or of a part of a documented histogram, or one of its labels.
fn is_documented(name: &str) -> bool {
    let labels = ["db_client_connection_state"];
    labels.contains(&name)
        || documented_metrics().iter().any(|metric| {
            let rest = name.strip_prefix(&metric.prometheus);
            match metric.kind.as_str() {
                "histogram" => matches!(rest, Some("_bucket" | "_sum" | "_count")),
                _ => rest == Some(""),
            }
        })
}

fn kebab(alert: &str) -> String {
    let mut kebab = String::new();
    for letter in alert.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}

#[test]
fn every_metric_of_dashboard_and_alerts_is_documented() {
    let rules = alerts();
    let rules = rules
        .iter()
        .map(|(_, rule)| rule["expr"].as_str().unwrap().to_owned());
    let queries: Vec<String> = rules.chain(queries()).collect();
    assert!(queries.len() > 40, "{queries:?}");
    for query in &queries {
        for name in names(query) {
            assert!(is_documented(&name), "{name} in {query}");
        }
    }
}

#[test]
fn every_metric_that_a_document_names_is_documented() {
    let marked = Regex::new("`(cts_[a-z0-9_]+)").unwrap();
    // A key of tasks.
    let other = "cts_user_defined_meta";
    let mut number = 0;
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|kind| kind != "md") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for found in marked.captures_iter(&text) {
            let name = &found[1];
            let is_metric = documented_metrics()
                .iter()
                .any(|metric| metric.prometheus == name);
            number += 1;
            assert!(
                is_metric || is_documented(name) || name == other,
                "{name} in {}",
                path.display()
            );
        }
    }
    assert!(number > 40, "only {number} names are found");
}

#[test]
fn every_alert_has_a_section_of_the_runbook_and_a_test() {
    let runbook = read("docs/runbook.md");
    let tests = read("deploy/telemetry/alerts-test.yaml");
    let alerts = alerts();
    assert!(alerts.len() >= 9, "{alerts:?}");
    for (alert, rule) in &alerts {
        let section = kebab(alert);
        let url = rule["annotations"]["runbook_url"].as_str().unwrap();
        assert_eq!(url, format!("docs/runbook.md#{section}"));
        let mut headings = runbook.lines().filter_map(|line| line.strip_prefix("### "));
        let heading = headings.find(|heading| heading.to_lowercase().replace(' ', "-") == section);
        assert!(heading.is_some(), "docs/runbook.md lacks {section}");
        assert!(rule["annotations"]["summary"].is_string(), "{alert}");
        assert!(
            tests.contains(&format!("alertname: {alert} ")),
            "{alert} has no test"
        );
    }
}

#[tokio::test]
async fn promtool_accepts_the_rules_their_tests_and_the_configuration() {
    for words in [
        &["check", "rules", "alerts.yaml"][..],
        &["test", "rules", "alerts-test.yaml"],
        &["check", "config", "prometheus.yaml"],
    ] {
        let output = Command::new(promtool_path())
            .args(words)
            .current_dir(root().join("deploy/telemetry"))
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            output.status.success(),
            "{words:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
    }
}
