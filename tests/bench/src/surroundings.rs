//! Environment and programs of this process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

/// Variables that would make Terraform, Postgres or cts do something else here than elsewhere.
const UNWANTED_PREFIXES: [&str; 5] = ["CONSUL_", "CTS_", "PG", "TF_", "VAULT_"];

#[derive(Debug)]
pub(crate) struct Surroundings {
    executable: PathBuf,
    environment: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    pub(crate) fn of_this_process() -> Result<Self> {
        Ok(Self {
            executable: std::env::current_exe().context("this executable cannot be found")?,
            environment: std::env::vars_os().collect(),
        })
    }

    /// Environment for cts, and through it for Terraform.
    pub(crate) fn clean_environment(&self) -> BTreeMap<OsString, OsString> {
        let wanted = |name: &OsString| {
            let name = name.to_string_lossy();
            !UNWANTED_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
        };
        let inherited = self.environment.iter().filter(|(name, _)| wanted(name));
        let mut environment: BTreeMap<OsString, OsString> = inherited
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        for (name, value) in [
            // Otherwise Terraform would ask the vendor's server for news and wait for the answer.
            ("CHECKPOINT_DISABLE", "1"),
            ("NO_PROXY", "127.0.0.1,localhost"),
            ("no_proxy", "127.0.0.1,localhost"),
        ] {
            environment.insert(name.into(), value.into());
        }
        environment
    }

    /// Lets cargo make sure that a release executable is there and not older than its sources; gives
    /// its path.
    pub(crate) async fn build(&self, package: &str, binary: &str) -> Result<PathBuf> {
        let cargo = self.environment.get(OsStr::new("CARGO"));
        let cargo = cargo.map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let target = self.target()?;
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--release"])
            .args(["--package", package, "--bin", binary, "--manifest-path"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"))
            .arg("--target-dir")
            .arg(target)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .status()
            .await
            .context("cargo cannot be started")?;
        if !status.success() {
            bail!("cargo could not build {binary}: {status}");
        }
        Ok(target.join("release").join(binary))
    }

    /// The executable of this name in the directory of this one, if there is one.
    pub(crate) fn beside_this(&self, binary: &str) -> Option<PathBuf> {
        let path = self.executable.with_file_name(binary);
        path.is_file().then_some(path)
    }

    fn target(&self) -> Result<&Path> {
        let target = self.executable.ancestors().nth(2);
        target.context("this executable is in no target directory")
    }
}
