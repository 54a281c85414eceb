//! `cts config`: all faults, and the values that count.

use cts_testkit::assert_contains;
use serde_json::{Value, json};

use crate::cli::calls::{OURS, Place};

const INVALID: &str =
    "port = 1\nconsul {\n  adress = \"x\"\n  token = [\"hunter2\", \"hunter3\"]\n}\n";

#[tokio::test]
async fn a_valid_configuration_is_valid_without_consul_and_terraform() {
    let place = Place::new();
    place.write("a.hcl", "consul { address = \"127.0.0.1:1\" }\ntask { }\n");
    for words in [
        &["config", "validate", "-config-file", "a.hcl"][..],
        &["config", "validate", "a.hcl"],
    ] {
        let called = place.call(OURS, words).await;
        assert_eq!(called.code, 0, "{called:?}");
        assert_eq!(called.stdout, "The configuration is valid.\n");
        assert_contains(&called.stderr, ["an empty `task` block has no effect"]);
    }
}

#[tokio::test]
async fn every_problem_of_an_invalid_one_is_listed_with_its_place() {
    let place = Place::new();
    place.write("a.hcl", INVALID);
    place.write("b.json", "{\"port\": []}");
    let words = [
        "config",
        "validate",
        "-config-file=a.hcl",
        "-config-file=b.json",
    ];
    let called = place.call(OURS, &words).await;
    assert_eq!(
        (called.code, called.stdout.as_str()),
        (15, ""),
        "{called:?}"
    );
    assert_contains(
        &called.stderr,
        [
            "unknown key `adress` in `consul`",
            "[a.hcl:3:3]",
            "did you mean `address`?",
            "[a.hcl:4:11]",
            "[b.json:1:10]",
            "3 problems in the configuration",
        ],
    );
    assert!(!called.stderr.contains("hunter"), "{}", called.stderr);
}

#[tokio::test]
async fn programs_get_the_same_as_json() {
    let place = Place::new();
    place.write("a.hcl", INVALID);
    let called = place
        .call(
            OURS,
            &["config", "validate", "-json", "-config-file", "a.hcl"],
        )
        .await;
    assert_eq!(
        (called.code, called.stderr.as_str()),
        (15, ""),
        "{called:?}"
    );
    let said: Value = serde_json::from_str(&called.stdout).unwrap();
    assert_eq!(said["valid"], false);
    assert_eq!(
        said["problems"][0],
        json!({
            "severity": "error",
            "message": "unknown key `adress` in `consul`",
            "help": "did you mean `address`?",
            "file": "a.hcl",
            "line": 3,
            "column": 3,
            "end_line": 3,
            "end_column": 9,
        })
    );
    assert_eq!(said["problems"].as_array().unwrap().len(), 2);

    place.write("b.hcl", "port = 1\n");
    let called = place
        .call(
            OURS,
            &["config", "validate", "-json", "-config-file", "b.hcl"],
        )
        .await;
    let said: Value = serde_json::from_str(&called.stdout).unwrap();
    assert_eq!(
        (called.code, said),
        (0, json!({ "valid": true, "problems": [] }))
    );
}

#[tokio::test]
async fn without_files_there_is_nothing_to_check() {
    let place = Place::new();
    place.write("empty/notes.txt", "");
    for (words, code) in [
        (&["config", "validate"][..], 13),
        (&["config", "validate", "-json"], 13),
        (&["config", "dump"], 13),
        (&["config", "validate", "-config-dir", "empty"], 15),
        (&["config", "validate", "-config-file", "missing.hcl"], 15),
        (&["config", "dump", "-config-file", "missing.hcl"], 15),
    ] {
        let called = place.call(OURS, words).await;
        assert_eq!(called.code, code, "{words:?} {called:?}");
        if code == 13 && called.stdout.is_empty() {
            assert_contains(&called.stderr, ["no config file provided"]);
        }
    }
}

#[tokio::test]
async fn dump_is_an_equivalent_configuration() {
    let place = Place::new();
    // A directory of its own, because the place of the test is not in the captured output.
    let text = "port = 1234\nworking_dir = \"/srv/cts\"\nconsul { token = \"hunter2\" }\n";
    place.write("a.hcl", text);
    let hcl = place
        .call(OURS, &["config", "dump", "-config-file", "a.hcl"])
        .await;
    let json = place
        .call(
            OURS,
            &["config", "dump", "-o", "json", "-config-file", "a.hcl"],
        )
        .await;
    for called in [&hcl, &json] {
        assert_eq!(called.code, 0, "{called:?}");
        assert!(called.stdout.contains("1234"), "{called:?}");
        assert!(!format!("{called:?}").contains("hunter2"), "{called:?}");
    }
    place.write("dumped.hcl", &hcl.stdout);
    place.write("dumped.json", &json.stdout);
    let again = |file: &'static str| {
        let place = &place;
        async move {
            place
                .call(OURS, &["config", "dump", "-config-file", file])
                .await
        }
    };
    assert_eq!(again("dumped.hcl").await.stdout, hcl.stdout);
    assert_eq!(again("dumped.json").await.stdout, hcl.stdout);
}
