//! `database` and the variable that gives it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;

use crate::{DatabaseConfig, DatabaseUrl};

use super::super::{Sandbox, assert_each, assert_problem, config, only};

const URL: &str = "postgres://cts:hunter2@db:5432/cts";

fn with_variable(url: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("CTS_DATABASE_URL", url);
    sandbox
}

fn text(database: &DatabaseConfig) -> &str {
    database.url.text().unwrap().expose_secret()
}

fn file(sandbox: &Sandbox, text: &str) -> PathBuf {
    match sandbox.config(text).database.unwrap().url {
        DatabaseUrl::File(path) => path,
        DatabaseUrl::Text(_) => panic!("the URL is in no file"),
    }
}

#[test]
fn the_environment_gives_the_url_that_the_file_leaves_open() {
    let sandbox = with_variable(&format!(" {URL} "));
    let url = |written: &str| {
        let database = sandbox.config(written).database.unwrap();
        text(&database).to_owned()
    };
    assert_eq!(url("port = 1"), URL);
    assert_eq!(url("database { max_connections = 1 }"), URL);
    assert_eq!(url("database { url = \"\" }"), URL);
    assert_eq!(
        url("database { url = \"postgres://file/x\" }"),
        "postgres://file/x"
    );

    assert!(with_variable("  ").config("port = 1").database.is_none());
}

#[test]
fn a_file_may_hold_the_url_and_is_read_only_where_the_database_is_used() {
    let mut sandbox = Sandbox::new();
    let block = "database {\n url_file = \"secrets/url\"\n max_connections = 2\n}";
    let path = sandbox.path().join("secrets/url");
    assert_eq!(file(&sandbox, block), path);
    sandbox.set("CTS_DATABASE_URL_FILE", "/run/secrets/url");
    assert_eq!(file(&sandbox, block), path);
    let of_environment = Path::new("/run/secrets/url");
    assert_eq!(file(&sandbox, "port = 1"), of_environment);
    assert_eq!(
        file(&sandbox, "database { max_connections = 1 }"),
        of_environment
    );

    let mut config = sandbox.config(block);
    let missing = config.read_database_url().unwrap_err().to_string();
    assert!(missing.contains("secrets/url"), "{missing}");
    sandbox.write("secrets/url", format!("{URL}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
    assert!(config.secrets().is_empty());
    config.read_database_url().unwrap();
    assert_eq!(text(config.database.as_ref().unwrap()), URL);
    assert_eq!(config.secrets().len(), 1);
}

#[test]
fn a_url_is_given_once() {
    let text = format!("database {{\n url = \"{URL}\"\n url_file = \"x\"\n}}");
    assert_problem(
        &text,
        3,
        "`database` has a `url` and a `url_file`; only one of them may be set",
    );
    let mut sandbox = with_variable(URL);
    sandbox.set("CTS_DATABASE_URL_FILE", "/run/secrets/url");
    let report = sandbox.refused("port = 1");
    let message = only(&report).message();
    assert!(
        message.contains("CTS_DATABASE_URL and CTS_DATABASE_URL_FILE"),
        "{message}"
    );
}

#[test]
fn a_database_without_url_is_refused_where_it_stands() {
    for text in [
        "database { }",
        "database { max_connections = 2 }",
        "database { url = \"\" }",
    ] {
        assert_problem(
            &format!("port = 1\n{text}"),
            2,
            "`database` needs a `url` or a `url_file`, or the environment variable CTS_DATABASE_URL or CTS_DATABASE_URL_FILE",
        );
    }
}

#[test]
fn bad_databases_are_refused() {
    let urls = r#"
        url = "mysql://u:hunter2@h/d" #~ must begin with postgres:// or postgresql://
        url = "cts:hunter2@db" #~ must begin with postgres:// or postgresql://
        url = "postgres://" #~ and name a server
        url = ["a", "b"] #~ must be text, not a list
        url_file = ["a", "b"] #~ must be text, not a list
    "#;
    assert_each(urls, |url| format!("database {{\n{url} }}"), assert_problem);
    let others = r#"
        max_connections = 0 #~ between 1 and 1000, not 0
        max_connections = 1001 #~ between 1 and 1000, not 1001
        max_connections = "few" #~ must be a whole number
        ca_certs = "x" #~ unknown key `ca_certs` in `database`
    "#;
    let with_url = |text: &str| format!("database {{ url = \"postgres://h/d\"\n{text} }}");
    assert_each(others, with_url, assert_problem);
    let two = "database { url = \"postgres://h\" }\ndatabase { url = \"postgres://h\" }";
    assert_problem(two, 2, "only one `database` block");
}

#[test]
fn a_bad_variable_is_named_and_not_quoted() {
    let report = with_variable("sqlite:hunter2.db").refused("port = 1");
    let problem = only(&report);
    assert_eq!(problem.line(), None);
    let message = problem.message();
    assert!(message.contains("the environment variable CTS_DATABASE_URL must begin with"));
    assert!(
        message.contains("SQLite is what is used without"),
        "{message}"
    );
    assert!(!format!("{report:?}{}", report.render()).contains("hunter2"));
}

#[test]
fn the_url_is_shown_by_nothing() {
    let shown = format!("{:?}", config(&format!("database {{ url = \"{URL}\" }}")));
    assert!(
        !shown.contains("hunter2") && !shown.contains("db:5432"),
        "{shown}"
    );
    for text in [
        format!("database = \"{URL}\""),
        format!("database {{ url = \"x{URL}\" }}"),
        format!("database {{ urll = \"{URL}\" }}"),
        format!("database {{ max_connections = \"{URL}\" }}"),
        format!("services {{ schedulers = [\"{URL}\"] }}"),
        format!("port = \"{URL}\""),
        format!("database {{ url = {URL} }}"),
        format!("gateway {{ mode = \"{URL}\" }}"),
    ] {
        let report = Sandbox::new().refused(&text);
        let all = format!("{report:?}{}", report.render());
        assert!(!all.contains("hunter2"), "{text}\n{all}");
    }
}
