//! `security`: who may do what, and what is not safe.

use chrono::{DateTime, TimeDelta};
use cts_core::{Condition, TaskDraft, TaskSpec};

use super::super::{Sandbox, assert_each, assert_problem, assert_problems, config, task_with};
use crate::DeclaredTasks;

#[test]
fn servers_are_checked_by_roles_and_must_have_one_in_strict_mode() {
    for (key, checked, required) in [
        ("service_roles", true, false),
        ("server_roles", true, true),
        ("strict", true, true),
        ("require_auth", false, false),
    ] {
        let security = config(&format!("security {{ {key} = true }}")).security;
        assert_eq!(security.checks_servers(), checked, "{key}");
        assert_eq!(security.requires_server_roles(), required, "{key}");
    }
}

/// Every key with a value of its own, and an issuer with the defaults.
pub(crate) const WHOLE: &str = "security {
    key_file = \"/etc/cts/cluster.key\"
    hosts = [\"cts.example\"]
    origins = [\"https://ops.example\"]
    require_auth = true
    plan_values = \"operate\"
    service_roles = true
    server_roles = true
    domain = \"cts.example\"
    strict = true
    module_sources = [\"./m/\", \"acme/\", \"git::https://git.example/infra/\"]
    oidc {
      issuer      = \"https://login.example/realms/ops\"
      audience    = [\"cts\", \"https://cts.example\"]
      name_claim  = \"email\"
      role_claim  = \"realm_access.roles\"
      roles       = { viewers = \"read\", ops = \"operate\", platform = \"admin\" }
      clock_skew  = \"30s\"
      ca_cert     = \"ca.pem\"
    }
    oidc {
      issuer   = \"http://127.0.0.1:8080\"
      audience = \"cts\"
      roles    = { ops = \"operate\" }
    }
    audit { kept_for = \"720h\" kept = 5000 file = \"audit.jsonl\" }
  }";

#[test]
fn wrong_issuers_are_refused() {
    let place = |line: &str| {
        format!(
            "security {{\n oidc {{\n  audience = [\"cts\"]\n  roles = {{ ops = \"operate\" }}\n  {line}\n }}\n}}"
        )
    };
    assert_each(
        "issuer = \"http://login.example\" #~ is no URL of an issuer
         issuer = \"login.example\" #~ is no URL of an issuer
         issuer = \"https://u@login.example\" #~ is no URL of an issuer
         issuer = \"https://:p@login.example\" #~ is no URL of an issuer
         issuer = \"https://login.example?x=y\" #~ is no URL of an issuer",
        place,
        assert_problem,
    );
    let place = |text: &str| format!("security {{ {text} }}");
    let cases = r#"
        oidc { issuer = "https://i" audience = ["cts"] roles = { ops = "operate" } clock_skew = "11m" } #~ clock_skew
        oidc { issuer = "https://i" audience = ["cts"] roles = { ops = "operate" } unknown = 1 } #~ unknown
        oidc { issuer = "https://i" audience = ["cts"] roles = { ops = "owner" } } #~ owner
        oidc { audience = ["cts"] roles = { ops = "operate" } } #~ needs `issuer`
        oidc { issuer = "https://i" roles = { ops = "operate" } } #~ needs `audience`
        oidc { issuer = "https://i" audience = ["cts"] } #~ needs `roles`

        oidc { issuer = "https://i" audience = ["a"] roles = { ops = "operate" } }
        oidc { issuer = "https://i" audience = ["b"] roles = { ops = "operate" } } #~ more than one `oidc` block
    "#;
    assert_each(cases, place, assert_problem);
}

#[test]
fn audit_records_are_kept_within_limits() {
    assert_problems(
        "security { audit { kept_for = \"30m\" } } #~ kept_for
         security { audit { kept = 10 } } #~ kept
         security { require_auth = \"perhaps\" } #~ require_auth
         security { module_sources = [\"*\"] } #~ is no beginning of a source
         security { module_sources = [\"git@git.example:infra\"] } #~ is no beginning of a source
         security { module_sources = [\"https://files.example/a?b=c\"] } #~ has a query",
    );
}

/// A strict file with this task.
fn strict(task: &str, required: &str) -> String {
    format!(
        "security {{ strict = true }}\ndriver \"terraform\" {{\n required_providers {{\n {required} }}\n}}\ntask {{\n name = \"t\"\n condition \"services\" {{ names = [\"web\"] }}\n{task}\n}}\nterraform_provider \"aws\" {{}}"
    )
}

const AWS: &str = "aws = {\n source = \"hashicorp/aws\"\n version = \"= 5.1.0\"\n }\n";

#[test]
fn strict_mode_accepts_pinned_modules_and_providers() {
    for module in [
        "module = \"./m\"",
        "module = \"acme/web/any\"\nversion = \"1.2.3\"",
        "module = \"tf.example/acme/web/any//one\"\nversion = \"= 1.2.3-rc.1\"",
        "module = \"git::https://git.example/web.git?ref=v1\"",
        "module = \"git@github.com:acme/web.git?ref=v1\"",
        "module = \"github.com/acme/web//one?depth=1&ref=v1\"",
        "module = \"hg::https://hg.example/web?rev=1\"",
    ] {
        config(&strict(
            &format!("{module}\nproviders = [\"aws\", \"fake-sync\"]"),
            AWS,
        ));
    }
    config(&strict("module = \"./m\"\nproviders = [\"aws.west\"]", AWS));
    config(&strict(
        "module = \"./m\"\nproviders = [\"aws\"]",
        "aws = \"5.1.0\"\n",
    ));
}

#[test]
fn strict_mode_refuses_modules_without_a_version() {
    let at = |text: &str| {
        strict(text, "")
            .lines()
            .position(|line| line == text)
            .unwrap()
            + 1
    };
    for (module, message) in [
        (
            "module = \"acme/web/any\"",
            "has no exact version: write `version = \"1.2.3\"`",
        ),
        (
            "module = \"git::https://git.example/web.git\"",
            "write `?ref=`",
        ),
        (
            "module = \"git::https://git.example/web.git?ref=\"",
            "write `?ref=`",
        ),
        ("module = \"github.com/acme/web?depth=1\"", "write `?ref=`"),
        (
            "module = \"git::https://git.example/ref=v1/web.git\"",
            "write `?ref=`",
        ),
        ("module = \"hg::https://hg.example/web\"", "write `?rev=`"),
        (
            "module = \"https://files.example/web.zip?ref=v1\"",
            "cannot be pinned",
        ),
        (
            "module = \"s3::https://s3.amazonaws.com/b/web.zip\"",
            "cannot be pinned",
        ),
        ("module = \"file:///srv/web\"", "cannot be pinned"),
    ] {
        let part = "security.strict: the module of task \"t\"";
        assert_problem(&strict(module, ""), at(module), part);
        assert_problem(&strict(module, ""), at(module), message);
        let inexact = format!("{module}\nversion = \"~> 1.2\"");
        assert_problem(&strict(&inexact, ""), at(module), message);
        config(&strict(module, "").replace("strict = true", "strict = false"));
    }
}

#[test]
fn strict_mode_refuses_providers_without_a_version() {
    let text = "module = \"./m\"\nproviders = [\"aws\"]";
    for required in [
        "",
        "aws = { source = \"hashicorp/aws\" }\n",
        "aws = { version = \"~> 5.1\" }\n",
        "aws = \">= 5\"\n",
        "other = \"1.2.3\"\n",
    ] {
        let text = strict(text, required);
        let line = text
            .lines()
            .position(|line| line.starts_with("providers"))
            .unwrap()
            + 1;
        assert_problem(
            &text,
            line,
            "security.strict: the provider `aws` of task \"t\" has no exact version",
        );
        assert_problem(&text, line, "in `required_providers`");
    }
}

fn read(sandbox: &Sandbox, config: &str, draft: TaskDraft) -> Result<TaskSpec, String> {
    let config = sandbox.config(config);
    let now = DateTime::UNIX_EPOCH + TimeDelta::days(20_000);
    let draft = TaskDraft {
        name: "a".into(),
        condition: Condition::NoCondition,
        ..draft
    };
    let read = DeclaredTasks::new(&config, sandbox.path()).read(&draft, now);
    read.map_err(|invalid| invalid.to_string())
}

fn of_module(module: &str) -> TaskDraft {
    TaskDraft {
        module: module.into(),
        ..TaskDraft::default()
    }
}

#[test]
fn strict_mode_is_the_same_for_tasks_of_the_api() {
    let sandbox = Sandbox::new();
    let config = format!(
        "security {{ strict = true }}\ndriver \"terraform\" {{\n required_providers {{\n {AWS} }}\n}}"
    );
    let read = |draft| read(&sandbox, &config, draft);
    let pinned = TaskDraft {
        version: "1.2.3".into(),
        providers: vec!["aws".into()],
        ..of_module("acme/web/any")
    };
    read(pinned.clone()).unwrap();
    read(of_module("git::https://git.example/web.git?ref=v1")).unwrap();
    let loose = TaskDraft {
        version: String::new(),
        providers: vec!["other".into()],
        ..pinned
    };
    let problems = read(loose).unwrap_err();
    assert!(
        problems.contains("the module of task \"a\" has no exact version"),
        "{problems}"
    );
    assert!(
        problems.contains("the provider `other` of task \"a\""),
        "{problems}"
    );
    let problem = read(of_module("https://files.example/web.zip")).unwrap_err();
    assert!(problem.contains("cannot be pinned"), "{problem}");
}

#[test]
fn module_sources_limit_tasks_of_the_api() {
    let sandbox = Sandbox::new();
    let config =
        "security { module_sources = [\"./m\", \"acme/\", \"git::https://git.example/infra/\"] }";
    for module in [
        "./m",
        "acme/web/any",
        "git::https://git.example/infra/web.git?ref=v1",
    ] {
        read(&sandbox, config, of_module(module)).unwrap();
    }
    for module in [
        "./m/../n",
        "other/web/any",
        "git::https://git.example/other/web.git",
        "git::https://git.example/infra/../other/web.git",
        "git::https://user@git.example/infra/web.git",
        "git::https://git.example/infra/%2e%2e/other.git",
        "file:///srv/m",
    ] {
        let problem = read(&sandbox, config, of_module(module)).unwrap_err();
        assert!(
            problem.contains("`module` is refused by security.module_sources"),
            "{problem}"
        );
        assert!(!problem.contains(module), "{problem}");
    }
    let nothing = "security { module_sources = [] }";
    read(&sandbox, nothing, of_module("./m")).unwrap_err();
    read(&sandbox, "port = 1", of_module("other/web/any")).unwrap();
}

#[test]
fn the_registry_of_short_addresses_is_that_of_the_engine() {
    let sandbox = Sandbox::new();
    for (engine, registry) in [
        ("terraform", "registry.terraform.io"),
        ("opentofu", "registry.opentofu.org"),
    ] {
        let config = format!(
            "driver \"terraform\" {{ engine = \"{engine}\" }}\nsecurity {{ module_sources = [\"{registry}\"] }}"
        );
        read(&sandbox, &config, of_module("acme/web/any")).unwrap();
        let other = of_module("registry.example/acme/web/any");
        read(&sandbox, &config, other).unwrap_err();
    }
}

#[test]
fn module_sources_do_not_limit_files() {
    let file = format!("security {{ module_sources = [] }}\n{}", task_with(""));
    assert_eq!(config(&file).tasks.len(), 1);
}
