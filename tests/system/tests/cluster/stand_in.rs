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

/// A directory for `driver.terraform.path` whose Terraform reports `version`.
pub(crate) fn of_version(site: &Site, version: &str) -> String {
    let real = terraform_path();
    let script = OTHER_VERSION
        .replace("@VERSION@", version)
        .replace("@REAL@", real.to_str().unwrap());
    write(site, "other", &script)
}

/// Applies everything at once, and makes nothing.
const NO_RESOURCES: &str = r#"#!/bin/sh
case "$1" in
version) echo '{"terraform_version":"1.11.4"}' ;;
validate) echo '{"valid":true,"diagnostics":[]}' ;;
init) mkdir -p .terraform ;;
apply) echo 'Apply complete!' ;;
esac
"#;

/// A directory for `driver.terraform.path` whose Terraform does nothing, for tests of many tasks.
pub(crate) fn of_no_resources(site: &Site) -> String {
    write(site, "nothing", NO_RESOURCES)
}

fn write(site: &Site, name: &str, script: &str) -> String {
    site.write(&format!("{name}/terraform"), script);
    let directory = site.path().join(name);
    let program = directory.join("terraform");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    directory.to_str().unwrap().to_owned()
}
