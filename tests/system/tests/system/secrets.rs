//! Secrets of a run are where Terraform needs them, and nowhere else.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cts_testkit::{ConsulAgent, Postgres};
use cts_tests::{Instance, Shape, Site};

use crate::any_shape::providers::provider_environment::REQUIRED;
use crate::any_shape::vault::{SECRET, TOKEN, vault};

const CONSUL_TOKEN: &str = "token-of-consul-4711";
const BACKEND_PASSWORD: &str = "password-of-backend";
const ENVIRONMENT: &str = "value-of-task-env";
const ARGUMENT: &str = "argument-of-provider";

/// `refused` has a provider that takes no arguments.
const CONFIGURATION: &str = r#"
vault {
  address = "@VAULT@"
  token   = "@TOKEN@"
}

terraform_provider "terraform" {
  task_env {
    "PROBE_ENV"    = "@ENVIRONMENT@"
    "PROBE_SECRET" = "{{ with secret \"kv/probe\" }}{{ .Data.data.password }}{{ end }}"
  }
}

terraform_provider "terraform" {
  alias    = "refused"
  password = "@ARGUMENT@"
}

task {
  name      = "probe"
  module    = "./modules/probe"
  providers = ["terraform"]
  condition "services" { names = ["web"] }
}

task {
  name      = "refused"
  module    = "./modules/probe"
  providers = ["terraform.refused"]
  condition "services" { names = ["web"] }
}
"#;

/// Prints its secrets: its environment, escaped as well, and on a line that comes in pieces.
const MODULE: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "probe" {
  provisioner "local-exec" {
    command = <<-EOT
      printf 'plain %s %s\n' "$PROBE_ENV" "$PROBE_SECRET"
      printf 'to stderr %s\n' "$PROBE_SECRET" >&2
      printf '%65530s%s\n' long "$PROBE_SECRET"
      cat /proc/[0-9]*/cmdline >'@SITE@/evidence' 2>/dev/null || true
    EOT
  }
}
"#;

pub(crate) fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

fn secrets() -> [&'static str; 6] {
    [
        CONSUL_TOKEN,
        TOKEN,
        BACKEND_PASSWORD,
        ENVIRONMENT,
        ARGUMENT,
        SECRET,
    ]
}

fn assert_none(text: &[u8], place: &str) {
    for secret in secrets() {
        let mut windows = text.windows(secret.len());
        let found = windows.any(|part| part == secret.as_bytes());
        assert!(!found, "{secret} is in {place}");
    }
}

#[tokio::test]
async fn secrets_stay_where_they_are_used() {
    let vault = vault().await;
    let consul = ConsulAgent::start().await;
    let database = Postgres::shared().await.create_database().await;
    let (user, host) = database.split_once('@').unwrap();
    let state = format!("{user}:{BACKEND_PASSWORD}@{host}?sslmode=disable");
    let mut site = Site::new();
    site.set_environment("CONSUL_HTTP_TOKEN", CONSUL_TOKEN);
    let path = site.path().to_str().unwrap().to_owned();
    site.write("modules/probe/main.tf", &MODULE.replace("@SITE@", &path));
    let configuration = CONFIGURATION
        .replace("@VAULT@", &vault.address())
        .replace("@TOKEN@", TOKEN)
        .replace("@ENVIRONMENT@", ENVIRONMENT)
        .replace("@ARGUMENT@", ARGUMENT);
    let driver = format!("backend \"pg\" {{ conn_str = \"{state}\" }}\n{REQUIRED}");
    site.configure_driver(&consul.address(), &driver, &configuration);

    let cts = Instance::start(&site).await;
    let events = cts.api.wait_for_events("probe", 1).await;
    assert_eq!(events[0]["success"], true, "{events:?}");
    let refused = cts.api.wait_for_events("refused", 1).await;
    let error = refused[0]["error"]["message"].as_str().unwrap();
    assert!(error.contains("Unsupported argument"), "{error}");
    let answers = [
        "/v1/status/tasks?include=events",
        "/v1/tasks",
        "/v1/tasks/probe",
        "/v1/tasks/refused",
    ];
    for path in answers {
        let answer = cts.api.get(path).await.to_string();
        assert_none(answer.as_bytes(), path);
    }
    assert_details(&cts).await;
    let output = cts.output();
    assert!(output.contains("plain (hidden) (hidden)"), "{output}");
    cts.stop().await;

    assert_none(output.as_bytes(), "the log");
    let evidence = fs::read(site.path().join("evidence")).unwrap();
    assert_none(&evidence, "a command line");
    assert_kept_files(&site);
    if Shape::of_this_run() == Shape::Cluster {
        for secret in secrets() {
            let rows = Postgres::rows_with(site.database().await, secret).await;
            assert_eq!(rows, 0, "{secret} is in the database");
        }
    }
    let rows = Postgres::rows_with(&database, "terraform_data").await;
    assert!(rows > 0, "the state is in its database");
}

/// Run details are shown without secrets too, although the module prints them.
async fn assert_details(cts: &Instance) {
    let list = cts.api.get("/v1/runs").await;
    assert_none(list.to_string().as_bytes(), "the list of runs");
    let mut diagnostics = 0;
    for run in list["runs"].as_array().unwrap() {
        let path = format!("/v1/runs/{}", run["id"].as_str().unwrap());
        let run = cts.api.get(&path).await;
        let details = &run["run"]["details"];
        let ended = run["run"]["status"] != "queued";
        assert_eq!(details["phases_ms"].is_object(), ended, "{run}");
        diagnostics += details["diagnostics"].as_array().map_or(0, Vec::len);
        assert_none(run.to_string().as_bytes(), &path);
    }
    assert!(diagnostics > 0, "{list}");
}

/// Only Terraform itself has kept a secret: the credentials of its backend.
fn assert_kept_files(site: &Site) {
    let files = files_below(site.path());
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
    assert!(names.iter().any(|name| *name == "main.tf"), "{files:?}");
    for name in ["refused/providers.auto.tfvars", "backend.tfbackend"] {
        let kept = files.iter().find(|file| file.ends_with(name));
        assert_eq!(kept, None);
    }
    let mut kept = 0;
    for file in files {
        if file.ends_with("cts.hcl") {
            continue;
        }
        if file.ends_with(".terraform/terraform.tfstate") {
            kept += 1;
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            continue;
        }
        assert_none(&fs::read(&file).unwrap(), &file.display().to_string());
    }
    assert_eq!(kept, 2);
}
