use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use cts_terraform::{Executable, FindError};
use tempfile::TempDir;

use crate::fixture::{clean_environment, terraform_path};

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn the_configured_directory_comes_before_the_path() {
    let root = TempDir::new().unwrap();
    fs::create_dir(root.path().join("bin")).unwrap();
    symlink(terraform_path(), root.path().join("bin/terraform")).unwrap();
    let mut environment = clean_environment(root.path());
    environment.insert("PATH".into(), terraform_path().parent().unwrap().into());
    let configured = Executable::find(Some(Path::new("bin")), &environment, root.path());
    assert_eq!(
        configured.await.unwrap().path(),
        root.path().join("bin/terraform")
    );
    let from_path = Executable::find(None, &environment, root.path());
    assert_eq!(from_path.await.unwrap().path(), terraform_path());
}

#[tokio::test]
async fn a_missing_executable_tells_where_it_was_sought() {
    let root = TempDir::new().unwrap();
    let mut environment = clean_environment(root.path());
    environment.insert("PATH".into(), "/nowhere".into());
    let error = Executable::find(Some(Path::new("bin")), &environment, root.path())
        .await
        .unwrap_err();
    assert!(error.to_string().ends_with("/bin, /nowhere"), "{error}");
    assert!(matches!(error, FindError::NotFound { .. }));
}

#[tokio::test]
async fn a_version_outside_the_range_is_refused() {
    let root = TempDir::new().unwrap();
    script(
        &root.path().join("terraform"),
        "#!/bin/sh\necho '{\"terraform_version\": \"1.99.0\"}'\n",
    );
    let environment = clean_environment(root.path());
    let error = Executable::find(None, &environment, root.path())
        .await
        .unwrap_err();
    assert!(matches!(error, FindError::Unsupported { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_run_is_refused() {
    let root = TempDir::new().unwrap();
    fs::write(
        root.path().join("terraform"),
        "\u{7f}ELF made for another machine",
    )
    .unwrap();
    let environment = clean_environment(root.path());
    let error = Executable::find(None, &environment, root.path())
        .await
        .unwrap_err();
    assert!(matches!(error, FindError::NotExecutable { .. }), "{error}");
}

#[tokio::test]
async fn an_answer_without_a_version_is_refused() {
    let root = TempDir::new().unwrap();
    script(&root.path().join("terraform"), "#!/bin/sh\necho hello\n");
    let environment = clean_environment(root.path());
    let error = Executable::find(None, &environment, root.path())
        .await
        .unwrap_err();
    assert!(matches!(error, FindError::UnknownVersion { .. }), "{error}");
}
