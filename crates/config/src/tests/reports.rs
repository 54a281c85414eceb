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

#[test]
fn something_without_effect_yet() {
    insta::assert_snapshot!(report("é = 1\nvault { address = \"x\" }"), @r#"
      x unknown key `é`
       ,-[a.hcl:1:1]
     1 | é = 1
       : ^
       `----

      x `vault` is not supported yet
       ,-[a.hcl:2:1]
     2 | vault { address = "x" }
       : ^^^^^
       `----

    2 problems in the configuration
    "#);
}
