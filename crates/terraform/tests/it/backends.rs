//! States of real backends, also after a Terraform that was killed. (Consul's are in `consul.rs`.)

use std::fs;

use cts_core::Backend;
use cts_terraform::Attempt;
use cts_testkit::{ObjectStore, Postgres};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::fixture::{KEEPS_SERVICES, Sandbox, instance, object, wait_for};

/// A module whose apply prints the process id of its Terraform, and then takes a minute.
const SAYS_PARENT: &str = r#"
variable "services" {
  type = any
}

resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "echo parent=$PPID; exec sleep 60"
  }
}
"#;

pub(crate) const BUCKET: &str = "states";

pub(crate) fn s3(server: &ObjectStore) -> Backend {
    let arguments = json!({
        "bucket": BUCKET,
        "key": "network",
        "region": "eu-central-1",
        "access_key": "key-of-edge",
        "secret_key": "secret-of-edge",
        "endpoints": { "s3": server.address() },
        "use_path_style": true,
        "use_lockfile": true,
        "skip_credentials_validation": true,
        "skip_metadata_api_check": true,
        "skip_region_validation": true,
        "skip_requesting_account_id": true,
    });
    backend("s3", arguments)
}

pub(crate) async fn postgres() -> Backend {
    let connection = Postgres::shared().await.create_database().await;
    let connection = format!("{connection}?sslmode=disable");
    backend("pg", json!({ "conn_str": connection }))
}

pub(crate) fn backend(kind: &str, arguments: Value) -> Backend {
    Backend {
        kind: kind.into(),
        arguments: object(arguments),
    }
}

/// Applies, and finds the state from a new directory.
async fn keeps_its_state(backend: Backend) {
    let mut sandbox = Sandbox::new(KEEPS_SERVICES).await;
    sandbox.settings.backend = backend;
    let (attempt, _lines) = sandbox.prepared(vec![instance("a", "${x}")]).await;
    sandbox.terraform.apply(&attempt).await.unwrap();

    fs::remove_dir_all(sandbox.directory().path()).unwrap();
    let root = sandbox.write(vec![instance("a", "${x}")]);
    sandbox.terraform.prepare(&attempt, &root).await.unwrap();
    let plan = sandbox.terraform.plan(&attempt).await.unwrap();
    assert!(!plan.changes_present, "{}", plan.text);
}

#[tokio::test]
async fn a_state_in_s3_is_found_again() {
    let server = ObjectStore::with_bucket(BUCKET).await;
    keeps_its_state(s3(&server)).await;
    let keys = server.list(BUCKET).await;
    assert!(keys.contains("<Key>env:/edge/network</Key>"), "{keys}");
    assert!(!keys.contains(".tflock"), "{keys}");
}

#[tokio::test]
async fn a_state_in_postgres_is_found_again() {
    keeps_its_state(postgres().await).await;
}

/// Kills Terraform, with all processes that it has started, in the middle of an apply.
async fn kill_an_apply(backend: Backend) -> (Sandbox, Attempt) {
    let mut sandbox = Sandbox::new(SAYS_PARENT).await;
    sandbox.settings.backend = backend;
    let (attempt, mut lines) = sandbox.prepared(Vec::new()).await;
    let killed = async {
        let id = loop {
            let line = lines.recv().await.unwrap().text;
            if let Some((_, id)) = line.split_once("(local-exec): parent=") {
                break id.trim().parse().unwrap();
            }
        };
        kill(Pid::from_raw(id), Signal::SIGKILL).unwrap();
    };
    let (result, ()) = tokio::join!(sandbox.terraform.apply(&attempt), killed);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("ended by signal 9"), "{text}");
    (sandbox, attempt)
}

/// The next apply gets the lock and gets as far as the one before.
async fn can_apply(sandbox: &Sandbox) {
    let (next, mut lines) = sandbox.attempt();
    let stopped = async {
        wait_for(&mut lines, "(local-exec): parent=").await;
        next.stop.cancel();
    };
    let (result, ()) = tokio::join!(sandbox.terraform.apply(&next), stopped);
    assert!(result.unwrap_err().is_interrupted());
}

#[tokio::test]
async fn the_lock_that_a_killed_apply_leaves_in_s3_is_released_as_its_error_says() {
    let server = ObjectStore::with_bucket(BUCKET).await;
    let (sandbox, attempt) = kill_an_apply(s3(&server)).await;
    let keys = server.list(BUCKET).await;
    assert!(keys.contains("env:/edge/network.tflock"), "{keys}");

    let text = sandbox
        .terraform
        .apply(&attempt)
        .await
        .unwrap_err()
        .to_string();
    let (_, command) = text.split_once("`terraform force-unlock ").unwrap();
    let (id, rest) = command.split_once("` in ").unwrap();
    assert!(
        rest.starts_with(sandbox.directory().path().to_str().unwrap()),
        "{text}"
    );
    sandbox.terraform.force_unlock(&attempt, id).await.unwrap();
    can_apply(&sandbox).await;
}

#[tokio::test]
async fn postgres_frees_the_lock_of_a_killed_apply_by_itself() {
    let (sandbox, _attempt) = kill_an_apply(postgres().await).await;
    can_apply(&sandbox).await;
}
