//! The work of cts, done by hand: Terraform in directories of the same content.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use tokio::process::Command;

use crate::files::copy_directory;

const WORKSPACE: &str = ".terraform/environment";
const VARIABLES: &str = "terraform.tfvars";

// docs/terraform.md#commands
const INIT: [&str; 7] = [
    "init",
    "-no-color",
    "-reconfigure",
    "-input=false",
    "-backend=true",
    "-get=true",
    "-upgrade=false",
];
const APPLY: [&str; 7] = [
    "apply",
    "-no-color",
    "-auto-approve",
    "-input=false",
    "-lock=true",
    "-parallelism=10",
    "-refresh=true",
];

/// Terraform as it is called by hand.
#[derive(Debug, Clone)]
pub(crate) struct Terraform {
    pub(crate) executable: PathBuf,
    /// Complete.
    pub(crate) environment: BTreeMap<OsString, OsString>,
}

/// A copy of a task's directory.
#[derive(Debug)]
pub(crate) struct ByHand {
    terraform: Terraform,
    original: PathBuf,
    directory: PathBuf,
}

impl ByHand {
    /// A copy that is as ready for `apply` as the original, but has a state of its own.
    pub(crate) fn prepared(
        terraform: &Terraform,
        original: &Path,
        directory: PathBuf,
        workspace: &str,
    ) -> Result<Self> {
        copy_directory(original, &directory, |_| false)?;
        fs::write(directory.join(WORKSPACE), workspace).context("cannot choose a workspace")?;
        Ok(Self::at(terraform, original, directory))
    }

    /// A copy of the generated files alone.
    pub(crate) fn unprepared(
        terraform: &Terraform,
        original: &Path,
        directory: PathBuf,
    ) -> Result<Self> {
        copy_directory(original, &directory, |name| {
            name.starts_with(".terraform") || name.starts_with("terraform.tfstate")
        })?;
        Ok(Self::at(terraform, original, directory))
    }

    fn at(terraform: &Terraform, original: &Path, directory: PathBuf) -> Self {
        Self {
            terraform: terraform.clone(),
            original: original.to_owned(),
            directory,
        }
    }

    /// Gets the values of the original's last run.
    pub(crate) fn take_variables(&self) -> Result<()> {
        fs::copy(
            self.original.join(VARIABLES),
            self.directory.join(VARIABLES),
        )
        .context("cannot copy the variables")
        .map(drop)
    }

    pub(crate) async fn init(&self) -> Result<()> {
        self.run(&INIT).await.map(drop)
    }

    pub(crate) async fn new_workspace(&self, name: &str) -> Result<()> {
        self.run(&["workspace", "new", "-no-color", name])
            .await
            .map(drop)
    }

    /// Fails also if nothing had to be changed: that would be no comparison.
    pub(crate) async fn apply(&self) -> Result<()> {
        let output = self.run(&APPLY).await?;
        let summary = output.lines().find(|line| line.contains("Apply complete!"));
        if summary.is_none_or(|line| line.contains(" 0 added, 0 changed, 0 destroyed")) {
            bail!(
                "the apply by hand in {} changed nothing",
                self.directory.display()
            );
        }
        Ok(())
    }

    async fn run(&self, arguments: &[&str]) -> Result<String> {
        let what = || {
            format!(
                "terraform {} in {}",
                arguments.join(" "),
                self.directory.display()
            )
        };
        let output = Command::new(&self.terraform.executable)
            .args(arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(&self.terraform.environment)
            .process_group(0)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .with_context(what)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}: {complaint}", what(), output.status)
    }
}
