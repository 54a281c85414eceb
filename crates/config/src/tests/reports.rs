//! Complete reports, as a user reads them.

use super::{Sandbox, task_with};

fn report(text: &str) -> String {
    let sandbox = Sandbox::new();
    sandbox.rendered(&sandbox.refused(text))
}

#[test]
fn an_unknown_key_with_a_suggestion() {
    insta::assert_snapshot!(report("consul { adress = \"x\", token = \"hunter2\" }"), @r#"
      x unknown key `adress` in `consul`
       ,-[a.hcl:1:10]
     1 | consul { adress = "x", token = "*******" }
       :          ^^^^^^
       `----
      help: did you mean `address`?

    1 problem in the configuration
    "#);
}

#[test]
fn a_wrong_type() {
    insta::assert_snapshot!(report("buffer_period {\n\tmin = \"10\"\n}\nport = [1, 2]"), @r#"
      x `buffer_period.min` must be a duration such as "30s" or "1m30s", not "10"
       ,-[a.hcl:2:8]
     2 |     min = "10"
       :           ^^^^
       `----
      help: give a unit, for example "10s"

      x `port` must be a whole number, not a list
       ,-[a.hcl:4:8]
     4 | port = [1, 2]
       :        ^^^^^^
       `----

    2 problems in the configuration
    "#);
}

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

#[test]
fn a_syntax_error() {
    insta::assert_snapshot!(report("port = 1\nconsul {\n  address = localhost\n}"), @r#"
      x found the word `localhost`, expected a value after `=`
       ,-[a.hcl:3:13]
     3 |   address = localhost
       :             ^^^^^^^^^
       `----
      help: quote it: "localhost"

    1 problem in the configuration
    "#);
}

#[test]
fn a_syntax_error_in_a_secret() {
    insta::assert_snapshot!(report("consul {\n  token = hunter2\n}"), @r#"
      x syntax error in a value that is not shown
       ,-[a.hcl:2:11]
     2 |   token = *******
       :           ^^^^^^^
       `----

    1 problem in the configuration
    "#);
}

#[test]
fn a_secret_of_a_wrong_type() {
    insta::assert_snapshot!(report("consul { token = [\"hunter2\", \"hunter3\"] }"), @r#"
      x `consul.token` must be text, not a list
       ,-[a.hcl:1:18]
     1 | consul { token = ["*******", "*******"] }
       :                  ^^^^^^^^^^^^^^^^^^^^^^
       `----

    1 problem in the configuration
    "#);
}

#[test]
fn a_database_of_another_kind() {
    insta::assert_snapshot!(report("database {\n  url = \"sqlite:hunter2.db\"\n  max_connection = 3\n}"), @r#"
      x `database.url` must begin with postgres:// or postgresql:// and name a server
       ,-[a.hcl:2:9]
     2 |   url = "*****************"
       :         ^^^^^^^^^^^^^^^^^^^
       `----
      help: SQLite is what is used without a database of this kind, in a file in the working directory

      x unknown key `max_connection` in `database`
       ,-[a.hcl:3:3]
     3 |   max_connection = *
       :   ^^^^^^^^^^^^^^
       `----
      help: did you mean `max_connections`?

    2 problems in the configuration
    "#);
}

#[test]
fn a_misspelt_database_with_its_password_on_the_line() {
    insta::assert_snapshot!(report("databse { url = \"postgres://cts:hunter2@db/cts\" }"), @r#"
      x unknown key `databse`
       ,-[a.hcl:1:1]
     1 | databse { url = "*****************************" }
       : ^^^^^^^
       `----
      help: did you mean `database`?

    1 problem in the configuration
    "#);
}

#[test]
fn an_address_without_a_port() {
    insta::assert_snapshot!(report("services {\n  watchers = [\"10.0.0.1:8561\", \"10.0.0.2\"]\n}"), @r#"
      x "10.0.0.2" in `services.watchers` needs a port between 1 and 65535, as in "10.0.0.1:8560"
       ,-[a.hcl:2:32]
     2 |   watchers = ["10.0.0.1:8561", "10.0.0.2"]
       :                                ^^^^^^^^^^
       `----

    1 problem in the configuration
    "#);
}

#[test]
fn a_second_storage() {
    insta::assert_snapshot!(report("high_availability {\n  cluster {\n    name = \"edge\"\n    storage \"consul\" { }\n    storage \"postgers\" { }\n    storage \"postgres\" { }\n  }\n}"), @r#"
      x unknown storage `postgers`, it must be `consul` or `postgres`
       ,-[a.hcl:5:13]
     5 |     storage "postgers" { }
       :             ^^^^^^^^^^
       `----
      help: did you mean `postgres`?

      x only one storage can be configured, and this is the second: `postgres` beside `consul`
       ,-[a.hcl:6:13]
     6 |     storage "postgres" { }
       :             ^^^^^^^^^^
       `----

    2 problems in the configuration
    "#);
}

/// Everything that `cts config validate` has to say.
fn checked(name: &str, text: &str) -> crate::Report {
    let sandbox = Sandbox::new();
    sandbox.write(name, text);
    sandbox.check(&[name])
}

#[test]
fn errors_warnings_and_notes_in_the_order_of_the_file() {
    let text = "é = 1\ntask { }\ndriver \"terraform-cloud\" {\n  organization = \"o\"\n  token = \"hunter2\"\n}";
    insta::assert_snapshot!(checked("a.hcl", text).render(), @r#"
      x unknown key `é`
       ,-[a.hcl:1:1]
     1 | é = 1
       : ^
       `----

      ! an empty `task` block has no effect
       ,-[a.hcl:2:1]
     2 | task { }
       : ^^^^
       `----

      > `driver "terraform-cloud"` is not supported yet
       ,-[a.hcl:3:8]
     3 | driver "terraform-cloud" {
       :        ^^^^^^^^^^^^^^^^^
       `----

    1 problem, 1 warning, 1 note in the configuration
    "#);
}

#[test]
fn problems_of_a_file_in_json() {
    let text = "{\n  \"consul\": {\"adress\": \"x\", \"token\": [\"hunter2\"]},\n  \"tls\": [{}],\n  \"port\": {},\n  \"task\": \"none\"\n}";
    insta::assert_snapshot!(checked("a.json", text).render(), @r#"
      x unknown key `adress` in `consul`
       ,-[a.json:2:14]
     2 |   "consul": {"adress": "x", "token": ["*******"]},
       :              ^^^^^^^^
       `----
      help: did you mean `address`?

      x `consul.token` must be text, not a list
       ,-[a.json:2:38]
     2 |   "consul": {"adress": "x", "token": ["*******"]},
       :                                      ^^^^^^^^^^^
       `----

      x `tls` must be a single object, not a list
       ,-[a.json:3:10]
     3 |   "tls": [{}],
       :          ^^^^
       `----
      help: write the object without the brackets around it

      x `port` must be a whole number, not an object
       ,-[a.json:4:11]
     4 |   "port": {},
       :           ^^
       `----

      x `task` must be an object, not text
       ,-[a.json:5:11]
     5 |   "task": "none"
       :           ^^^^^^
       `----

    5 problems in the configuration
    "#);
}

#[test]
fn a_syntax_error_in_json() {
    let text = "{\n  \"consul\": {\"token\": \"hunter2\",}\n}";
    insta::assert_snapshot!(checked("a.json", text).render(), @r#"
      x found a comma behind the last value
       ,-[a.json:2:32]
     2 |   "consul": {"token": "*******",}
       :                                ^
       `----
      help: remove the comma

    1 problem in the configuration
    "#);
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
