//! A Terraform that stands still before or after a command.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cts_testkit::{eventually, terraform_path};
use cts_tests::{DEADLINE, Site, met};

/// Runs Terraform. Stands still where a file has the pattern of the directory and the arguments.
const SCRIPT: &str = r#"#!/bin/sh
call="$(pwd) $*"
stand_still_if() {
  [ -e "$1" ] || return 0
  pattern=$(cat "$1")
  case "$call" in $pattern) touch '@SITE@/halted'; sleep 300 ;; esac
}
stand_still_if '@SITE@/halt-before'
"@TERRAFORM@" "$@"
code=$?
stand_still_if '@SITE@/halt-after'
exit $code
"#;

/// Goes into the driver block.
pub(crate) const HALTING: &str = "path = \"bin\"";

/// The Terraform of a site. A pattern is one of the shell, for `DIRECTORY ARGUMENTS`.
#[derive(Debug)]
pub(crate) struct HaltingTerraform {
    site: PathBuf,
}

impl HaltingTerraform {
    /// Installs it, for driver blocks with [`HALTING`].
    pub(crate) fn install(site: &Site) -> Self {
        let script = SCRIPT.replace("@SITE@", site.path().to_str().unwrap());
        let script = script.replace("@TERRAFORM@", terraform_path().to_str().unwrap());
        site.write("bin/terraform", &script);
        let executable = site.path().join("bin/terraform");
        fs::set_permissions(executable, fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            site: site.path().to_owned(),
        }
    }

    /// Commands of this pattern do not begin.
    pub(crate) fn halt_before(&self, pattern: &str) {
        fs::write(self.file("halt-before"), pattern).unwrap();
    }

    /// Commands of this pattern do all that they do, and do not end.
    pub(crate) fn halt_after(&self, pattern: &str) {
        fs::write(self.file("halt-after"), pattern).unwrap();
    }

    /// Waits until a command stands still.
    pub(crate) async fn halted(&self) {
        let there = |path: &Path| met(path.exists(), "no command stands still");
        eventually(DEADLINE, async || there(&self.file("halted"))).await;
    }

    /// Commands after this do not stand still.
    pub(crate) fn go_on(&self) {
        for name in ["halt-before", "halt-after", "halted"] {
            let _absent = fs::remove_file(self.file(name));
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.site.join(name)
    }
}
