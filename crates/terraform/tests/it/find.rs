use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use cts_core::EngineKind;
use cts_terraform::{Executable, FindError};
use tempfile::TempDir;

use crate::fixture::{clean_environment, terraform_path};

const TERRAFORM: EngineKind = EngineKind::Terraform;

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

async fn find(
    engine: EngineKind,
    root: &Path,
    directory: &str,
) -> Result<Option<Executable>, FindError> {
    let environment = clean_environment(root);
    Executable::in_directory(engine, Path::new(directory), &environment, root).await
}

async fn refused(root: &Path) -> FindError {
    find(TERRAFORM, root, "").await.unwrap_err()
}

#[tokio::test]
async fn an_executable_is_found_in_its_directory_or_on_the_path() {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("bin")).unwrap();
    symlink(terraform_path(), root.path().join("bin/terraform")).unwrap();
    let mut environment = clean_environment(root.path());
    environment.insert("PATH".into(), terraform_path().parent().unwrap().into());
    let configured = find(TERRAFORM, root.path(), "bin").await.unwrap().unwrap();
    assert_eq!(configured.path(), root.path().join("bin/terraform"));
    let on_path = Executable::on_path(TERRAFORM, &environment, root.path());
    assert_eq!(on_path.await.unwrap().unwrap().path(), terraform_path());
}

#[tokio::test]
async fn a_configured_directory_is_the_only_place_that_is_looked_at() {
    let root = TempDir::new().unwrap();
    // An executable on the PATH, or an entry that is a directory, does not count.
    fs::create_dir_all(root.path().join("bin/terraform")).unwrap();
    for directory in ["bin", "missing"] {
        assert_eq!(find(TERRAFORM, root.path(), directory).await.unwrap(), None);
    }
}

#[tokio::test]
async fn each_engine_has_an_executable_and_a_range_of_its_own() {
    let root = TempDir::new().unwrap();
    let says =
        |version: &str| format!("#!/bin/sh\necho '{{\"terraform_version\": \"{version}\"}}'\n");
    script(&root.path().join("tofu"), &says("1.10.6"));
    assert_eq!(find(TERRAFORM, root.path(), "").await.unwrap(), None);
    let tofu = find(EngineKind::OpenTofu, root.path(), "")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(tofu.engine(), EngineKind::OpenTofu);
    assert_eq!(tofu.version().to_string(), "1.10.6");

    // A version newer than the tested ones is used; a version older than the supported ones is not.
    script(&root.path().join("terraform"), &says("1.99.0"));
    let newer = find(TERRAFORM, root.path(), "").await.unwrap().unwrap();
    assert_eq!(newer.version().to_string(), "1.99.0");
    for (engine, version) in [
        (TERRAFORM, "0.12.31"),
        (TERRAFORM, "1.9.0-rc1"),
        (EngineKind::OpenTofu, "1.5.7"),
    ] {
        script(&root.path().join(engine.executable()), &says(version));
        let error = find(engine, root.path(), "").await.unwrap_err();
        assert!(matches!(error, FindError::Unsupported { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_path_that_is_the_file_itself_is_refused() {
    let root = TempDir::new().unwrap();
    script(&root.path().join("terraform"), "#!/bin/sh\n");
    let error = find(TERRAFORM, root.path(), "terraform").await.unwrap_err();
    assert!(matches!(error, FindError::NotDirectory { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_run_is_refused() {
    let root = TempDir::new().unwrap();
    fs::write(
        root.path().join("terraform"),
        "\u{7f}ELF made for another machine",
    )
    .unwrap();
    let error = refused(root.path()).await;
    assert!(matches!(error, FindError::NotExecutable { .. }), "{error}");
    fs::remove_file(root.path().join("terraform")).unwrap();
    symlink("nowhere", root.path().join("terraform")).unwrap();
    let error = refused(root.path()).await;
    assert!(matches!(error, FindError::NotExecutable { .. }), "{error}");
}

#[tokio::test]
async fn a_version_in_plain_text_is_too_old() {
    let root = TempDir::new().unwrap();
    let answer = "Terraform v0.12.31\n\nYour version of Terraform is out of date!";
    script(
        &root.path().join("terraform"),
        &format!("#!/bin/sh\necho '{answer}'\n"),
    );
    let error = refused(root.path()).await;
    assert!(matches!(error, FindError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("0.12.31"), "{error}");
}

#[tokio::test]
async fn an_answer_without_a_version_is_refused() {
    let root = TempDir::new().unwrap();
    script(&root.path().join("terraform"), "#!/bin/sh\necho hello\n");
    let error = refused(root.path()).await;
    assert!(matches!(error, FindError::UnknownVersion { .. }), "{error}");
}
