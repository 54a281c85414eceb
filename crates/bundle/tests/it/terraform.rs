//! The real Terraform reads a module from its unpacked bundle.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use cts_bundle::{BundleCache, Limits};
use cts_testkit::{ManualClock, terraform_path};
use tempfile::TempDir;
use tokio::process::Command;

use crate::fixture::{Tree, call};

async fn terraform(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(terraform_path())
        .args(arguments)
        .arg("-no-color")
        .current_dir(directory)
        .env_clear()
        .env("HOME", directory)
        .env("CHECKPOINT_DISABLE", "1")
        .env("TF_CLI_CONFIG_FILE", "/dev/null")
        .output()
        .await
        .unwrap()
}

/// Standard output, if all went well.
async fn successful(directory: &Path, arguments: &[&str]) -> String {
    let output = terraform(directory, arguments).await;
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn modules() -> Tree {
    let web = call("shared", "../shared");
    Tree::new(&[
        ("modules/web/main.tf", &web),
        (
            "modules/shared/main.tf.json",
            r#"{"module": {"base": {"source": "../../base"}}}"#,
        ),
        (
            "base/main.tf",
            "resource \"terraform_data\" \"kept\" {\n  input = file(\"${path.module}/text\")\n}\n",
        ),
        ("base/text", "from the base"),
    ])
}

#[tokio::test]
async fn a_module_with_calls_to_the_outside_works_from_its_bundle() {
    let bundle = modules().pack("modules/web");
    let root = TempDir::new().unwrap();
    let cache = BundleCache::new(
        root.path().join(".bundles"),
        Limits::default(),
        Arc::new(ManualClock::default()),
    );
    let bytes = bundle.bytes.clone();
    let fetch = || async { Ok::<_, Infallible>(bytes) };
    let unpacked = cache.ensure(bundle.hash, fetch).await.unwrap();
    let task = root.path().join("task");
    fs::create_dir(&task).unwrap();
    let source = unpacked.module_source(&bundle.module).unwrap();
    fs::write(task.join("main.tf"), call("web", &source)).unwrap();

    successful(&task, &["init", "-input=false"]).await;
    successful(&task, &["validate"]).await;
    successful(&task, &["apply", "-auto-approve", "-input=false"]).await;
    let state = fs::read_to_string(task.join("terraform.tfstate")).unwrap();
    assert!(state.contains("from the base"), "{state}");

    // Running Terraform has left the bundle as it was: the next process takes it without fetching.
    drop(unpacked);
    let restarted = BundleCache::new(
        root.path().join(".bundles"),
        Limits::default(),
        Arc::new(ManualClock::default()),
    );
    let no_fetch = || async { Err(std::io::Error::other("fetched again")) };
    restarted.ensure(bundle.hash, no_fetch).await.unwrap();
}

/// The reason for the two slashes of `module_source`: once Terraform no longer needs them, they can go.
#[tokio::test]
async fn the_plain_path_of_such_a_module_does_not_work() {
    let tree = modules();
    let task = TempDir::new().unwrap();
    let source = tree.path("modules/web");
    let text = call("web", source.to_str().unwrap());
    fs::write(task.path().join("main.tf"), text).unwrap();
    let output = terraform(task.path(), &["init", "-input=false"]).await;
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("escapes module package"), "{text}");
}
