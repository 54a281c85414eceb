//! `high_availability` (`docs/configuration.md#high_availability`).

use std::time::Duration;

use super::super::{
    Sandbox, assert_each, assert_one, assert_problem, assert_problems, config, only,
};
use crate::{HaStorage, OnTakeover};

fn cluster(content: &str) -> String {
    format!("high_availability {{ cluster {{ name = \"edge\"\n{content}\n}} }}")
}

fn consul(parent_path: &str, namespace: Option<&str>) -> HaStorage {
    HaStorage::Consul {
        parent_path: parent_path.into(),
        namespace: namespace.map(str::to_owned),
    }
}

#[test]
fn the_block_is_merged_over_files() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "1.hcl",
        cluster("storage \"consul\" { parent_path = \"a\" session_ttl = \"20s\" }"),
    );
    sandbox.write(
        "2.hcl",
        "high_availability {\n cluster { storage \"consul\" { session_ttl = \"25s\" } }\n instance { address = \"b:1\" }\n}",
    );
    let config = sandbox.load(&["1.hcl", "2.hcl"]).unwrap().config;
    let block = config.high_availability.unwrap();
    assert_eq!(block.storage, consul("a", None));
    assert_eq!(block.session_ttl, Duration::from_secs(25));
    assert_eq!(block.address.as_deref(), Some("b:1"));

    sandbox.write("3.hcl", cluster("storage \"postgres\" { }"));
    let report = sandbox.refused_files(&["1.hcl", "3.hcl"]);
    let problem = only(&report);
    assert_eq!((problem.file(), problem.line()), (Some("3.hcl"), Some(2)));
    assert!(
        problem.message().contains("`postgres` beside `consul`"),
        "{problem}"
    );
}

#[test]
fn bad_blocks_are_refused() {
    let cases = r#"
        storage "etcd" { } #~ unknown storage `etcd`, it must be `consul` or `postgres`
        storage "consul" { } storage "postgres" { } #~ the second: `postgres` beside `consul`
        storage "consul" { } storage "consul" { } #~ only one `storage "consul"` block
        storage { } #~ needs a label, `consul` or `postgres`
        storage = "consul" #~ must be a block, not text
        storage "consul" { session_ttl = "999ms" } #~ must be between 1s and 24h, not 999ms
        storage "postgres" { session_ttl = "86401s" } #~ must be between 1s and 24h, not 86401s
        storage "postgres" { parent_path = "x" } #~ unknown key `parent_path` in `storage "postgres"`
        storage "consul" { path = "x" } #~ unknown key `path`
        nam = "x" #~ unknown key `nam` in `high_availability.cluster`
    "#;
    assert_each(cases, cluster, assert_problem);
    let cases = r#"
        high_availability { } #~ needs a `cluster` block with the `name` of the cluster
        high_availability { instance { address = "a" } } #~ needs a `cluster` block

        high_availability {
          cluster { } } #~ `high_availability.cluster` needs a `name`

        high_availability {
          cluster { name = "" } } #~ `high_availability.cluster` needs a `name`

        high_availability {
          cluster = 1 } #~ `high_availability.cluster` must be a block

        high_availability { cluster { name = "edge" }
          instance { port = 1 } } #~ unknown key `port` in `high_availability.instance`
    "#;
    assert_problems(cases);
}

#[test]
fn storage_in_consul_is_warned_of_if_it_is_written() {
    let warnings = |text: &str| Sandbox::new().warnings(&cluster(text));
    let found = warnings("storage \"consul\" { }");
    assert_one(&found, "in the database of cts, not in Consul");
    assert!(warnings("").is_empty());
    assert!(warnings("storage \"postgres\" { }").is_empty());
}

#[test]
fn a_session_shorter_than_consul_allows_is_warned_of() {
    let warnings = |ttl: &str| {
        Sandbox::new().warnings(&cluster(&format!(
            "storage \"postgres\" {{ session_ttl = \"{ttl}\" }}"
        )))
    };
    for ttl in ["1s", "9999ms"] {
        let found = warnings(ttl);
        assert_one(&found, "less than Consul would accept");
    }
    for ttl in ["10s", "86400s"] {
        assert!(warnings(ttl).is_empty(), "{ttl}");
    }
}

#[test]
fn block_of_the_original_implies_a_full_pass_on_takeover() {
    let all = |text: &str| config(text).on_takeover() == OnTakeover::All;
    assert!(all(&cluster("")));
    assert!(all(&cluster("storage \"consul\" { }")));
    assert!(!all(&cluster("storage \"postgres\" { }")));
    assert!(!all(""));
    let changed = "scheduler { on_takeover = \"changed\" }\n";
    assert!(!all(&format!("{changed}{}", cluster(""))));
    let always = "scheduler { on_takeover = \"all\" }\n";
    assert!(all(&format!(
        "{always}{}",
        cluster("storage \"postgres\" { }")
    )));
}

#[test]
fn state_on_one_machine_does_not_go_with_a_cluster() {
    let with = |driver: &str| {
        format!(
            "driver \"terraform\" {{ {driver} }}\n{}",
            cluster("storage \"postgres\" { }")
        )
    };
    assert_problem(
        &with("backend \"local\" { }"),
        2,
        "backend \"local\" cannot be used here",
    );
    let shared = with("shared_local_backend = true backend \"local\" { workspace_dir = \"/x\" }");
    assert!(config(&shared).high_availability.is_some());
}
