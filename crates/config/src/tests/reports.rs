//! Complete reports, as a user reads them.

use super::{Sandbox, task_with};

#[test]
fn a_missing_module_directory() {
    let text = task_with("").replace("./m", "../other/module");
    let sandbox = Sandbox::new();
    let report = sandbox.refused(&text);
    let parent = sandbox.path().parent().unwrap().to_str().unwrap();
    insta::assert_snapshot!(report.render().replace(parent, "/parent"), @r#"
      x module directory /parent/other/module does not exist
       ,-[a.hcl:3:12]
     3 |   module = "../other/module"
       :            ^^^^^^^^^^^^^^^^^
       `----

    1 problem in the configuration
    "#);
}

#[test]
fn problems_in_two_files() {
    let sandbox = Sandbox::new();
    sandbox.write("d/1.hcl", task_with(""));
    sandbox.write(
        "d/2.hcl",
        format!(
            "consul {{\n  tls = true\n}}\n{}",
            task_with("enabled = \"yes\"")
        ),
    );
    insta::assert_snapshot!(sandbox.rendered(&sandbox.refused_files(&["d"])), @r#"
      x `consul.tls` must be a block, not a boolean
       ,-[d/2.hcl:2:9]
     2 |   tls = true
       :         ^^^^
       `----

      x duplicate task name "t"
       ,-[d/2.hcl:5:10]
     5 |   name = "t"
       :          ^^^
       `----
      help: the first one is at d/1.hcl:2:10

      x `task.enabled` must be true or false, not "yes"
       ,-[d/2.hcl:8:13]
     8 |   enabled = "yes"
       :             ^^^^^
       `----

    3 problems in the configuration
    "#);
}

/// Everything that `cts config validate` has to say.
fn checked(name: &str, text: &str) -> crate::Report {
    let sandbox = Sandbox::new();
    sandbox.write(name, text);
    sandbox.check(&[name])
}

/// Name of a report, and text of the file that it is about.
const FILES: [(&str, &str); 12] = [
    (
        "an unknown key with a suggestion",
        "consul { adress = \"x\", token = \"hunter2\" }",
    ),
    (
        "a wrong type",
        "buffer_period {\n\tmin = \"10\"\n}\nport = [1, 2]",
    ),
    (
        "a syntax error",
        "port = 1\nconsul {\n  address = localhost\n}",
    ),
    (
        "a syntax error in a secret",
        "consul {\n  token = hunter2\n}",
    ),
    (
        "a secret of a wrong type",
        "consul { token = [\"hunter2\", \"hunter3\"] }",
    ),
    (
        "a database of another kind",
        "database {\n  url = \"sqlite:hunter2.db\"\n  max_connection = 3\n}",
    ),
    (
        "a misspelt database with its password on the line",
        "databse { url = \"postgres://cts:hunter2@db/cts\" }",
    ),
    (
        "an address without a port",
        "services {\n  watchers = [\"10.0.0.1:8561\", \"10.0.0.2\"]\n}",
    ),
    (
        "a second storage",
        "high_availability {\n  cluster {\n    name = \"edge\"\n    storage \"consul\" { }\n    storage \"postgers\" { }\n    storage \"postgres\" { }\n  }\n}",
    ),
    (
        "errors warnings and notes in the order of the file",
        "é = 1\ntask { }\ndriver \"terraform-cloud\" {\n  organization = \"o\"\n  token = \"hunter2\"\n}",
    ),
    (
        "problems of a file in json",
        "{\n  \"consul\": {\"adress\": \"x\", \"token\": [\"hunter2\"]},\n  \"tls\": [{}],\n  \"port\": {},\n  \"task\": \"none\"\n}",
    ),
    (
        "a syntax error in json",
        "{\n  \"consul\": {\"token\": \"hunter2\",}\n}",
    ),
];

#[test]
fn every_report_shows_its_problems_and_no_secret() {
    let reports = FILES.map(|(name, text)| {
        let file = if text.starts_with('{') {
            "a.json"
        } else {
            "a.hcl"
        };
        let rendered = checked(file, text).render();
        assert!(!rendered.contains("hunter"), "{rendered}");
        format!("# {name}\n{rendered}")
    });
    insta::assert_snapshot!("reports", reports.join("\n"));
}

#[test]
fn a_place_in_a_long_line() {
    let text = format!(
        "{{\"id\": \"{0}\", \"a\": 1, \"client_type\": \"{0}\"}}",
        "k".repeat(200)
    );
    insta::assert_snapshot!(checked("a.json", &text).render(), @r#"
      x unknown key `a`
       ,-[a.json:1:212]
     1 | kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk", "a": 1, "client_type": "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk
       :                                                                                                                                                                 ^^^
       `----

    1 problem in the configuration
    "#);
}

#[test]
fn names_that_would_steer_a_terminal() {
    let text = format!("{{\"\\u001b[2J\\n{}\": 1}}", "k".repeat(100));
    insta::assert_snapshot!(checked("a.json", &text).render(), @r#"
      x unknown key `\u{1b}[2J\nkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…`
       ,-[a.json:1:2]
     1 | {"\u001b[2J\nkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk": 1}
       :  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       `----

    1 problem in the configuration
    "#);
}

#[test]
fn the_form_for_programs() {
    let report = checked(
        "a.hcl",
        "consul {\n  ädress = \"x\"\n  token = [\"hunter2\", \"hunter3\"]\n}",
    );
    insta::assert_json_snapshot!(report, @r#"
    [
      {
        "severity": "error",
        "message": "unknown key `ädress` in `consul`",
        "help": "did you mean `address`?",
        "file": "a.hcl",
        "line": 2,
        "column": 3,
        "end_line": 2,
        "end_column": 9
      },
      {
        "severity": "error",
        "message": "`consul.token` must be text, not a list",
        "help": null,
        "file": "a.hcl",
        "line": 3,
        "column": 11,
        "end_line": 3,
        "end_column": 33
      }
    ]
    "#);
    let nothing = Sandbox::new().check(&["nowhere.hcl"]);
    insta::assert_json_snapshot!(nothing, @r#"
    [
      {
        "severity": "error",
        "message": "cannot read nowhere.hcl: there is no such file or directory",
        "help": null,
        "file": null,
        "line": null,
        "column": null,
        "end_line": null,
        "end_column": null
      },
      {
        "severity": "error",
        "message": "no configuration files found",
        "help": null,
        "file": null,
        "line": null,
        "column": null,
        "end_line": null,
        "end_column": null
      }
    ]
    "#);
}

#[test]
fn a_report_of_very_many_problems_is_cut() {
    let keys: Vec<String> = (0..1200).map(|count| format!("key{count} = 1")).collect();
    let text = keys.join("\n");
    let rendered = checked("a.hcl", &text).render();
    assert!(rendered.contains("unknown key `key999`") && !rendered.contains("key1000"));
    let end = "and 200 more that are not shown\n\n1200 problems in the configuration\n";
    assert!(
        rendered.ends_with(end),
        "{}",
        &rendered[rendered.len() - 200..]
    );
}
