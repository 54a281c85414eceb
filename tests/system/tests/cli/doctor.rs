//! `cts doctor`: each check with what it looks at, and the exit code of the worst.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cts_testkit::{
    Authority, ConsulAgent, NewerConsul, Postgres, access_control_by_default_deny, engine_script,
    free_port,
};
use serde_json::Value;

use crate::cli::calls::{OURS, Place};

const TOKEN: &str = "5be0d3a1-70c2-4f5d-9d0e-5a8b1c6e2f48";

const TASKS: &str = r#"
task {
  name   = "pool"
  module = "./modules/pool"

  condition "services" {
    names = ["web", "api"]
  }

  module_input "consul-kv" {
    path    = "app/"
    recurse = true
  }
}

task {
  name   = "names"
  module = "./modules/pool"

  condition "catalog-services" {
    regexp = "^web-"
  }
}
"#;

/// A place with a configuration of these tasks, and a module for them. Nothing answers at its Consul.
fn place(more: &str) -> Place {
    let place = Place::new();
    let variables = ["services", "consul_kv", "catalog_services"];
    let variables = variables.map(|name| format!("variable \"{name}\" {{}}\n"));
    place.write("modules/pool/main.tf", &variables.concat());
    place.write("cts.hcl", &format!("{more}\n{TASKS}"));
    fs::set_permissions(
        place.path().join("cts.hcl"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    place
}

/// Findings of a run of the command.
struct Findings {
    code: i32,
    document: Value,
}

impl Findings {
    async fn of(place: &Place, more: &[&str]) -> Self {
        let words = [&["doctor", "-config-file=cts.hcl", "-o=json"], more].concat();
        let called = place.call(OURS, &words).await;
        let document = serde_json::from_str(&called.stdout);
        assert!(document.is_ok(), "{called:?}");
        Self {
            code: called.code,
            document: document.unwrap(),
        }
    }

    /// The results of a check, each with what was found and what is to be done.
    fn results(&self, check: &str) -> Vec<(String, String)> {
        let checks = self.document["checks"].as_array().unwrap().iter();
        let of_check = checks.filter(|finding| finding["check"] == check);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        of_check
            .map(|it| {
                let found = format!("{} | {}", text(&it["found"]), text(&it["remedy"]));
                (text(&it["result"]), found)
            })
            .collect()
    }

    /// Expects one result of a check that contains these texts.
    fn expect(&self, check: &str, result: &str, parts: &[&str]) {
        let results = self.results(check);
        let fits = |(is, text): &&(String, String)| {
            is == result && parts.iter().all(|part| text.contains(part))
        };
        assert_eq!(
            results.iter().filter(fits).count(),
            1,
            "{check}: {results:#?}"
        );
    }
}

#[tokio::test]
async fn each_missing_right_is_named_with_its_rule() {
    let consul = ConsulAgent::start_with(access_control_by_default_deny()).await;
    let rules = r#"
        service "web" { policy = "read" }
        key_prefix "consul-terraform-sync/terraform" { policy = "write" }
    "#;
    consul.make_token(TOKEN, rules).await;
    let address = consul.address();
    let place = place(&format!(
        "consul {{\n  address = \"{address}\"\n  token = \"{TOKEN}\"\n}}"
    ));
    let findings = Findings::of(&place, &[]).await;
    assert_eq!(findings.code, 4, "{}", findings.document);
    findings.expect("consul", "ok", &["leader"]);
    findings.expect("consul version", "skipped", &["agent_prefix \"\""]);
    findings.expect("consul token", "ok", &["accessor"]);
    findings.expect("clock of consul", "ok", &[]);
    let missing = [
        [
            "service:read api is missing",
            "service \"api\" { policy = \"read\" }",
        ],
        [
            "service:read web-* is missing",
            "service_prefix \"web-\" { policy = \"read\" }",
        ],
        [
            "node:read of all is missing",
            "node_prefix \"\" { policy = \"read\" }",
        ],
        [
            "key:read app/* is missing",
            "key_prefix \"app/\" { policy = \"read\" }",
        ],
        [
            "service:write consul-terraform-sync is missing",
            "service \"consul-terraform-sync\" { policy = \"write\" }",
        ],
        [
            "session:write of all is missing",
            "session_prefix \"\" { policy = \"write\" }",
        ],
    ];
    for parts in &missing {
        findings.expect("consul rights", "error", parts);
    }
    findings.expect("consul rights", "ok", &["service:read web is granted"]);
    findings.expect(
        "consul rights",
        "ok",
        &["key:write consul-terraform-sync/terraform*"],
    );
    assert_eq!(findings.results("consul rights").len(), missing.len() + 2);

    let watcher = Findings::of(&place, &["-role=watcher"]).await;
    let rights = watcher.results("consul rights");
    assert!(
        rights.iter().all(|(_, text)| !text.contains(":write")),
        "{rights:#?}"
    );
    watcher.expect("terraform", "skipped", &[]);
    let gateway = Findings::of(&place, &["-role=gateway"]).await;
    assert_eq!(gateway.results("consul rights").len(), 1);
    let scheduler = Findings::of(&place, &["-role=scheduler"]).await;
    assert_eq!(scheduler.results("consul rights"), []);
}

#[tokio::test]
async fn a_token_that_consul_does_not_know_is_an_error() {
    let consul = ConsulAgent::start_with(access_control_by_default_deny()).await;
    consul.make_token(TOKEN, "").await;
    let mut place = place(&format!("consul {{ address = \"{}\" }}", consul.address()));
    place.set("CONSUL_HTTP_TOKEN", "6be0d3a1-70c2-4f5d-9d0e-5a8b1c6e2f49");
    let findings = Findings::of(&place, &[]).await;
    findings.expect(
        "consul token",
        "error",
        &["ACL not found", "consul acl token create"],
    );
    findings.expect("consul rights", "skipped", &[]);
}

#[tokio::test]
async fn a_token_that_is_not_set_is_not_one_that_consul_refuses() {
    let consul = ConsulAgent::start_with(access_control_by_default_deny()).await;
    // From here on requests without a token have no rights.
    let url = format!("http://{}/v1/agent/token/default", consul.address());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let reset = client.put(url).body(r#"{"Token": ""}"#).send().await;
    reset.unwrap().error_for_status().unwrap();
    let place = place(&format!("consul {{ address = \"{}\" }}", consul.address()));
    let findings = Findings::of(&place, &[]).await;
    let parts = ["no token is set, and Consul needs one", "CONSUL_HTTP_TOKEN"];
    findings.expect("consul token", "error", &parts);
    let remedy =
        "no token is set: set consul.token or CONSUL_HTTP_TOKEN to one with: service \"api\"";
    findings.expect("consul rights", "error", &[remedy]);
}

#[tokio::test]
async fn without_acls_every_right_is_granted() {
    let consul = ConsulAgent::start().await;
    let place = place(&format!("consul {{ address = \"{}\" }}", consul.address()));
    let findings = Findings::of(&place, &[]).await;
    findings.expect("consul version", "ok", &["1.", ConsulAgent::NODE]);
    findings.expect("consul token", "ok", &["ACLs are off"]);
    findings.expect("consul rights", "ok", &["ACLs are off"]);
    findings.expect("database", "ok", &["SQLite", "will be made"]);
    findings.expect("modules", "ok", &["local modules that can be packed: 1"]);
    findings.expect("working directory", "ok", &["will be made"]);
}

#[tokio::test]
async fn a_consul_that_refuses_the_keys_of_states_is_an_error() {
    let agent = ConsulAgent::start().await;
    for (version, result, parts) in [
        ("1.21.5", "error", ["Consul 1.21.5 refuses", "`backend`"]),
        ("1.22.0", "ok", ["taken", ""]),
    ] {
        let consul = NewerConsul::start(agent.address(), version).await;
        let place = place(&format!("consul {{ address = \"{}\" }}", consul.address()));
        let findings = Findings::of(&place, &[]).await;
        findings.expect("consul keys", result, &parts);
        findings.expect("consul version", "ok", &[version]);
        let elsewhere = "driver \"terraform\" {\n  backend \"local\" {}\n}\n";
        place.write("driver.hcl", elsewhere);
        let findings = Findings::of(&place, &["-config-file=driver.hcl"]).await;
        assert_eq!(findings.results("consul keys"), []);
    }
}

#[tokio::test]
async fn a_consul_that_is_away_is_reported_once_and_nothing_is_written() {
    let consul = format!("127.0.0.1:{}", free_port());
    let place = place(&format!("consul {{ address = \"{consul}\" }}"));
    let before = entries(place.path());
    let findings = Findings::of(&place, &[]).await;
    assert_eq!(findings.code, 4);
    assert_eq!(findings.document["worst"], "error");
    findings.expect("consul", "error", &[&consul, "CONSUL_HTTP_ADDR"]);
    for check in ["consul version", "consul token", "consul rights"] {
        findings.expect(check, "skipped", &["does not answer"]);
    }
    findings.expect("terraform", "warning", &["none is installed", ".engines"]);
    assert_eq!(entries(place.path()), before);
}

/// All paths below a directory.
fn entries(directory: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            paths.insert(path.display().to_string());
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
        }
    }
    paths
}

#[tokio::test]
async fn terraform_is_looked_for_and_not_installed() {
    let place = place("");
    let write = |version| {
        let path = place.path().join("engine/terraform");
        place.write("engine/terraform", &engine_script(version));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let directory = place.path().join("engine");
    let path = format!("driver \"terraform\" {{ path = {directory:?} }}\n");
    place.write("driver.hcl", &path);
    let file = "-config-file=driver.hcl";
    for (version, result, parts) in [
        ("1.10.5", "ok", ["Terraform 1.10.5", "[directory]/engine"]),
        ("0.12.0", "error", ["0.12.0", "supported is >= 0.13.0"]),
        ("1.99.0", "warning", ["1.99.0", "not tested"]),
    ] {
        write(version);
        let findings = Findings::of(&place, &[file, "-role=worker"]).await;
        findings.expect("terraform", result, &parts);
    }
}

#[tokio::test]
async fn variables_of_the_environment_without_effect_are_warned_about() {
    let mut place = place("");
    let findings = Findings::of(&place, &["-role=worker"]).await;
    assert_eq!(findings.results("environment"), []);
    for name in ["TF_CLI_ARGS_apply", "TF_VAR_region", "TF_WORKSPACE"] {
        place.set(name, "x");
    }
    let findings = Findings::of(&place, &["-role=worker"]).await;
    let names = "TF_CLI_ARGS_apply, TF_VAR_region, TF_WORKSPACE:";
    let parts = [names, "`variables`", "`parallelism`", "`task_env`"];
    findings.expect("environment", "warning", &parts);
    let findings = Findings::of(&place, &["-role=gateway"]).await;
    assert_eq!(findings.results("environment"), []);
}

#[tokio::test]
async fn the_state_of_postgres_is_shown() {
    let url = Postgres::shared().await.create_database().await;
    let mut place = place("");
    place.set("CTS_DATABASE_URL", &url);
    let role = &["-role=scheduler"];
    let findings = Findings::of(&place, role).await;
    findings.expect("database", "ok", &["Postgres 1"]);
    findings.expect("database schema", "error", &["pending", "cts migrate"]);
    findings.expect("database tls", "ok", &["on this machine"]);
    findings.expect("database replication", "ok", &["no replicas"]);
    findings.expect("clock of database", "ok", &[]);
    let migrated = place.call(OURS, &["migrate"]).await;
    assert_eq!(migrated.code, 0, "{migrated:?}");
    let findings = Findings::of(&place, role).await;
    findings.expect("database schema", "ok", &["version 2"]);
    findings.expect("database rights", "ok", &[]);
}

#[tokio::test]
async fn rights_and_replication_of_postgres_are_shown() {
    let primary = Postgres::start().await;
    let replica = primary.replica().await;
    let mut place = place("");
    let url = primary.url("postgres");
    place.set("CTS_DATABASE_URL", &url);
    let migrated = place.call(OURS, &["migrate"]).await;
    assert_eq!(migrated.code, 0, "{migrated:?}");
    let role = &["-role=scheduler"];
    let findings = Findings::of(&place, role).await;
    findings.expect(
        "database replication",
        "warning",
        &["replicas: 1", "synchronous_standby"],
    );
    findings.expect("database rights", "ok", &[]);

    primary.execute("CREATE ROLE reader LOGIN").await;
    primary
        .execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        .await;
    let (_credentials, server) = url.split_once('@').unwrap();
    place.set("CTS_DATABASE_URL", &format!("postgres://reader@{server}"));
    let findings = Findings::of(&place, role).await;
    let lacks = [
        "DELETE, INSERT, UPDATE on table",
        "further objects with missing rights",
        "GRANT",
    ];
    findings.expect("database rights", "error", &lacks);

    replica.catch_up(&primary).await;
    place.set("CTS_DATABASE_URL", &replica.url("postgres"));
    let findings = Findings::of(&place, role).await;
    findings.expect(
        "database replication",
        "error",
        &["refuses writes", "primary"],
    );
}

#[tokio::test]
async fn services_apart_need_postgres() {
    let place = place("");
    let findings = Findings::of(&place, &["-role=scheduler"]).await;
    findings.expect("database", "error", &["need Postgres", "CTS_DATABASE_URL"]);
    findings.expect("watchers", "error", &["no answer"]);
    let findings = Findings::of(&place, &["-role=gateway"]).await;
    findings.expect("schedulers", "error", &["no answer"]);
    findings.expect("database", "skipped", &[]);
}

#[tokio::test]
async fn ends_of_certificates_are_shown() {
    let place = place(
        "services {\n  tls {\n    ca_cert = \"ca.pem\"\n    cert = \"a.pem\"\n    key = \"a-key.pem\"\n  }\n}",
    );
    let authority = Authority::new();
    place.write("ca.pem", authority.pem());
    let write = |(cert, key): (String, String)| {
        place.write("a.pem", &cert);
        place.write("a-key.pem", &key);
    };
    write(authority.issue(&["worker.cts.example"]));
    let findings = Findings::of(&place, &["-role=worker"]).await;
    findings.expect("certificates", "ok", &["services.tls", "in "]);
    place.write(
        "roles.hcl",
        "security {\n  service_roles = true\n  domain = \"cts.example\"\n}\n",
    );
    for (role, result, said) in [
        ("-role=worker", "ok", "names the roles: worker"),
        (
            "-role=gateway",
            "error",
            "another role: worker (names: worker.cts.example)",
        ),
    ] {
        let findings = Findings::of(&place, &[role, "-config-file=roles.hcl"]).await;
        findings.expect("certificates", result, &["a.pem", said]);
    }
    write(authority.issue_until(&["worker.cts.example"], (2020, 2, 3)));
    let findings = Findings::of(&place, &["-role=worker"]).await;
    findings.expect(
        "certificates",
        "error",
        &["a.pem", "ended 2020-02-03", "renew"],
    );
    place.write("a-key.pem", &authority.issue(&["other"]).1);
    let findings = Findings::of(&place, &["-role=worker"]).await;
    findings.expect(
        "certificates",
        "error",
        &["does not belong to the certificate"],
    );
}

#[tokio::test]
async fn files_with_secrets_and_modules_without_versions_are_warned_about() {
    let place = place("");
    place.write(
        "remote.hcl",
        "task {\n  name = \"remote\"\n  module = \"acme/lb/cts\"\n  condition \"schedule\" { cron = \"0 4 * * *\" }\n}\n",
    );
    let path = place.path().join("remote.hcl");
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    let findings = Findings::of(&place, &["-config-file=remote.hcl"]).await;
    findings.expect("files", "warning", &["remote.hcl", "chmod o-r"]);
    findings.expect("modules", "warning", &["acme/lb/cts", "no exact version"]);
    findings.expect("modules", "ok", &["local modules that can be packed: 1"]);
}

/// The address comes from `services.listen`, and an option wins.
#[tokio::test]
async fn the_checks_judge_the_listener_of_a_service_as_its_start_does() {
    let listen =
        "listen {\n    scheduler = \"0.0.0.0:8560\"\n    watcher = \"203.0.113.1:8561\"\n  }";
    let plain = place(&format!("services {{\n  {listen}\n}}"));
    let open = place(&format!("services {{\n  plaintext = true\n  {listen}\n}}"));
    let checked = async |place: &Place, options: &[&str]| Findings::of(place, options).await;
    let findings = checked(&plain, &["-role=scheduler"]).await;
    let refused = "refusing to listen on 0.0.0.0:8560 in plain text";
    findings.expect("listener", "error", &[refused, "cts certs"]);
    let called = plain.call(OURS, &["watcher", "-config-file=cts.hcl"]).await;
    assert_eq!(called.code, 15, "{called:?}");
    let refused = "refusing to listen on 203.0.113.1:8561 in plain text";
    assert!(called.stderr.contains(refused), "{called:?}");

    let findings = checked(&open, &["-role=scheduler"]).await;
    findings.expect("listener", "ok", &["gRPC at 0.0.0.0:8560"]);
    findings.expect("settings", "warning", &["services talk in plain text"]);
    let findings = checked(&open, &["-role=watcher"]).await;
    findings.expect(
        "listener",
        "error",
        &["203.0.113.1:8561", "services.listen"],
    );
    let findings = checked(&open, &["-role=worker"]).await;
    findings.expect("listener", "ok", &["gRPC at 127.0.0.1:8562"]);
    let option = "-grpc-address=127.0.0.1:1";
    let findings = checked(&plain, &["-role=watcher", option]).await;
    findings.expect("listener", "ok", &["gRPC at 127.0.0.1:1"]);
}

#[tokio::test]
async fn a_start_refuses_what_the_checks_report() {
    const FILES: &str = "-config-file=variables.hcl";
    let unsafe_settings = r#"
        consul { address = "10.0.0.1:8500" }
        services { plaintext = true }
        telemetry { listen = "0.0.0.0:9464" }
        gateway { trusted_proxies = ["10.0.0.0/8"] }
        security {
          strict       = true
          require_auth = true
        }
    "#;
    let place = place(unsafe_settings);
    place.write(
        "variables.hcl",
        "task {\n  name = \"secret\"\n  module = \"./modules/pool\"\n  variable_files = [\"open.tfvars\"]\n  condition \"schedule\" { cron = \"0 4 * * *\" }\n}\n",
    );
    place.write(
        "modules/pool/conf.tf",
        "variable \"conf\" { default = null }\n",
    );
    place.write("open.tfvars", "conf = { token = \"s\" }\n");
    for (name, mode) in [("variables.hcl", 0o600), ("open.tfvars", 0o644)] {
        let path = place.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    for (service, options, role) in [
        ("start", &[][..], None),
        ("start", &["-grpc-address=0.0.0.0:1"], None),
        ("start", &["-bind-address=127.0.0.1"], None),
        ("watcher", &[], Some("-role=watcher")),
        ("scheduler", &[], Some("-role=scheduler")),
        ("worker", &[], Some("-role=worker")),
        ("gateway", &[], Some("-role=gateway")),
        (
            "gateway",
            &["-bind-address=127.0.0.1"],
            Some("-role=gateway"),
        ),
    ] {
        let words = [&[service, "-config-file=cts.hcl", FILES], options].concat();
        let called = place.call(OURS, &words).await;
        assert_eq!(called.code, 15, "{called:?}");
        let said = called.stderr.split_once("settings that are not safe: ");
        let (_, said) = said.unwrap_or_else(|| panic!("{called:?}"));
        let said = said.lines().next().unwrap_or_default();

        let mut checks = [&[FILES], options].concat();
        checks.extend(role);
        let findings = Findings::of(&place, &checks).await;
        findings.expect("files", "error", &["open.tfvars"]);
        let mut rest = said.to_owned();
        for (result, text) in findings.results("settings") {
            let (found, _remedy) = text.split_once(" | ").unwrap();
            let sentence = found.trim_start_matches("refused by security.strict: ");
            assert!(
                result == "error" && said.contains(sentence),
                "{words:?}: {text}: {said}"
            );
            rest = rest.replace(sentence, "");
        }
        let rest: Vec<_> = rest.split("; ").filter(|part| !part.is_empty()).collect();
        let known = [
            "everybody on this machine can read",
            "take that away",
            "cts runs as root",
        ];
        let is_known = |part: &&str| known.iter().any(|known| part.starts_with(known));
        assert!(rest.iter().all(is_known), "{words:?}: {rest:?}");
    }
}

#[tokio::test]
async fn a_configuration_with_problems_is_the_only_finding() {
    let place = Place::new();
    place.write("cts.hcl", "consul { adress = 1 }\n");
    let called = place.call(OURS, &["doctor", "-config-file=cts.hcl"]).await;
    assert_eq!(called.code, 4, "{called:?}");
    let expected = "RESULT  CHECK          FOUND\n\
         error   configuration  errors: 1, the first: cts.hcl:1: unknown key `adress` in `consul`; nothing else is checked\n         \
         -> `cts config validate` shows all of them\n\
         errors: 1, warnings: 0, checks: 1\n";
    assert_eq!(called.stdout, expected);
    assert_eq!(called.stderr, "");
    let called = place.call(OURS, &["doctor"]).await;
    assert_eq!(called.code, 13, "{called:?}");
}
