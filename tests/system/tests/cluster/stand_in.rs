//! Programs that stand in for Terraform.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use cts_testkit::terraform_path;
use cts_tests::Site;

/// Reports another version, and is the real Terraform in everything else.
const OTHER_VERSION: &str = r#"#!/bin/sh
if [ "$1" = version ]; then
  echo '{"terraform_version":"@VERSION@"}'
  exit
fi
exec '@REAL@' "$@"
"#;

/// Waits where Terraform would work, and notes the task whenever it has applied it.
const WAITING: &str = r#"#!/bin/sh
case "$1" in
version) echo '{"terraform_version":"1.9.9"}' ;;
init) mkdir -p "${TF_DATA_DIR:-.terraform}" ;;
validate) echo '{"format_version":"1.0","valid":true,"error_count":0,"warning_count":0,"diagnostics":[]}' ;;
apply)
  sleep 2
  echo "${PWD##*/}" >>'@SITE@/applied'
  ;;
esac
"#;

/// A directory for `driver.terraform.path` whose Terraform reports `version`.
pub(crate) fn of_version(site: &Site, version: &str) -> String {
    let real = terraform_path();
    let script = OTHER_VERSION
        .replace("@VERSION@", version)
        .replace("@REAL@", real.to_str().unwrap());
    write(site, "other", &script)
}

/// A directory for `driver.terraform.path` with something that says it is OpenTofu.
pub(crate) fn of_opentofu(site: &Site) -> String {
    let directory = of_version(site, "1.10.6");
    let (from, to) = (
        site.path().join("other/terraform"),
        site.path().join("other/tofu"),
    );
    fs::rename(from, to).unwrap();
    directory
}

/// A directory whose Terraform waits for two seconds, without using the processor.
pub(crate) fn waiting(site: &Site) -> String {
    let script = WAITING.replace("@SITE@", site.path().to_str().unwrap());
    write(site, "waiting", &script)
}

fn write(site: &Site, name: &str, script: &str) -> String {
    site.write(&format!("{name}/terraform"), script);
    let directory = site.path().join(name);
    let program = directory.join("terraform");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    directory.to_str().unwrap().to_owned()
}
