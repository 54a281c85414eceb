//! `webhook`, and the names in tasks (docs/configuration.md#webhook).

use secrecy::ExposeSecret;

use super::super::{Sandbox, assert_each, assert_problem, config, problems, task_with};
use crate::{dump, dump_json};

const WHOLE: &str = "webhook \"tickets\" {
  url     = \"https://user:pass-word@hooks.example.net/services/T0/token-in-path?key=in-query\"
  secret  = \"signing-secret\"
  timeout = \"5s\"
  retries = 0
  tls { ca_cert = \"/etc/cts/tls/hooks.pem\" }
}
webhook \"short\" { url = \"http://hooks\" }";

#[test]
fn no_output_shows_what_may_be_secret() {
    let template = "webhook \"t\" { url = \"https://h/{{ env \\\"T\\\" }}/in-path\" }";
    let config = config(&format!("{WHOLE}\n{template}"));
    let texts = [
        dump(&config),
        dump_json(&config).to_string(),
        format!("{config:?}"),
    ];
    for text in texts {
        for secret in ["pass-word", "in-path", "in-query", "signing-secret"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(
            text.contains("https://hooks.example.net/(hidden)"),
            "{text}"
        );
    }
    let again = Sandbox::new().config(&dump(&config));
    assert_eq!(again.webhooks.len(), 3);
    assert_eq!(again.webhooks[0].tls, config.webhooks[0].tls);
    let known: Vec<_> = config.secrets();
    let known = known.iter().map(ExposeSecret::expose_secret);
    assert!(known.into_iter().any(|secret| secret == "signing-secret"));
}

#[test]
fn a_report_covers_the_lines_of_a_webhook() {
    let text = WHOLE.replace("retries = 0", "retries = 99 ulr = \"https://h/in-path\"");
    let sandbox = Sandbox::new();
    let error = sandbox.rendered(&sandbox.refused(&text));
    for secret in ["pass-word", "in-path", "in-query", "signing-secret"] {
        assert!(!error.contains(secret), "{error}");
    }
}

#[test]
fn names_each_problem_of_a_webhook() {
    let cases = r#"
        webhook { url = "http://h" } #~ needs a label
        webhook "a b" { url = "http://h" } #~ the name of a webhook has 1 to 100
        webhook "a" { secret = "s" } #~ `webhook "a"` needs a `url`
        webhook "a" { url = "ftp://h" } #~ must be an http:// or https:// URL
        webhook "a" { url = "http://" } #~ must be an http:// or https:// URL
        webhook "a" { url = "http://h" retries = 9 } #~ must be between 0 and 8
        webhook "a" { url = "http://h" timeout = "2m" } #~ must be between 1s and
        webhook "a" { url = "http://h" sekret = "s" } #~ unknown key `sekret`

        webhook "a" { url = "http://h" }
        webhook "a" { url = "http://i" } #~ duplicate webhook "a"
    "#;
    assert_each(cases, str::to_owned, |text, _, expected| {
        let found = problems(text);
        let matching = found
            .iter()
            .filter(|(_line, problem)| problem.contains(expected));
        assert_eq!(matching.count(), 1, "{text}: {found:?}");
    });
}

#[test]
fn a_task_names_webhooks_that_are_there() {
    let known = "webhook \"tickets\" { url = \"http://h\" }";
    let naming = |names: &str| task_with(&format!("webhooks = [{names}]"));
    let unknown = naming("\"ticket\"");
    assert_problem(
        &unknown,
        line_of(&unknown),
        "no `webhook` block is called \"ticket\"",
    );
    let beside = format!("{known}\n{unknown}");
    assert_problem(
        &beside,
        line_of(&beside),
        "no `webhook` block is called \"ticket\"",
    );
    let there = config(&format!("{known}\n{}", naming("\"tickets\"")));
    let webhooks = &there.tasks[0].definition.file_definition.webhooks;
    assert_eq!(*webhooks, ["tickets"]);
    let twice = format!("{known}\n{}", naming("\"tickets\", \"tickets\""));
    assert_problem(
        &twice,
        line_of(&twice),
        "`webhooks` names \"tickets\" twice",
    );

    // The file of a scheduler needs none of them.
    let database = "database { url = \"postgres://db/cts\" }";
    let sandbox = Sandbox::new();
    assert!(
        sandbox
            .warnings(&format!("{database}\n{unknown}"))
            .is_empty()
    );
    let doubtful = sandbox.warnings(&format!("{database}\n{beside}"));
    assert_eq!(doubtful, ["no `webhook` block is called \"ticket\""]);
}

fn line_of(text: &str) -> usize {
    let before = text.lines().take_while(|line| !line.contains("webhooks"));
    before.count() + 1
}

#[test]
fn url_and_secret_may_be_templates() {
    let template = "{{ with secret \\\"s\\\" }}{{ .Data.x }}{{ end }}";
    let block = |key: &str| {
        format!(
            "vault {{ address = \"http://v\" }}\nwebhook \"a\" {{ url = \"http://h\"\n {key} = \"{template}\" }}"
        )
    };
    for key in ["url", "secret"] {
        config(&block(key));
        let without_vault = block(key).replace("address", "namespace");
        assert_problem(&without_vault, 3, "Vault is not configured");
    }
    let elsewhere =
        "webhook \"a\" { url = \"http://h\"\n tls { server_name = \"{{ env \\\"A\\\" }}\" } }";
    assert_problem(elsewhere, 2, "dynamic templates");
    let broken = "webhook \"a\" { url = \"http://h/{{ env \\\"A\\\" }}{{\" }";
    assert_eq!(problems(broken).len(), 1);
}
