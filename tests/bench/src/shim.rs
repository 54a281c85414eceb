//! Installation of `cts-bench-terraform`, which cts runs as `terraform` and which notes the moment and becomes
//! the real one; reads its notes.

use std::ffi::{CStr, CString};
use std::fs::Permissions;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, posix_spawn};
use nix::sys::wait::waitpid;
use tempfile::TempDir;

use crate::measures::clock::Moment;
use crate::measures::sample::Sample;

/// Processes started to find out how late the shim's notes are, and the pause before each, in which the
/// machine may fall asleep as it does before a change.
const LATENESS_TRIES: u32 = 40;
const LATENESS_PAUSE: Duration = Duration::from_millis(25);

const NAME: &str = "terraform";
const REAL: &str = "real";
const STARTS: &str = "starts";
const HOLD: &str = "hold";
const FAIL: &str = "fail";

/// Version of the Terraform that does nothing.
const PRETENDED: &str = "1.11.4";

/// One start of Terraform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) at: Moment,
    pub(crate) pid: u32,
    /// The command, such as `apply`.
    pub(crate) step: String,
}

impl Start {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let at = Moment::from_nanoseconds(words.next()?.parse().ok()?);
        let pid = words.next()?.parse().ok()?;
        let step = words.next().unwrap_or_default().to_owned();
        Some(Self { at, pid, step })
    }
}

/// The directory that cts gets as `driver.terraform.path`.
#[derive(Debug)]
pub(crate) struct TerraformShim {
    directory: PathBuf,
}

impl TerraformShim {
    /// Sets the directory up: `shim` is the program that notes, `terraform` the real one. Without one,
    /// a script takes its place that does nothing with success, see [`TerraformShim::hold_applies`].
    pub(crate) fn install(
        directory: PathBuf,
        shim: &Path,
        terraform: Option<&Path>,
    ) -> Result<Self> {
        let set_up = || {
            std::fs::create_dir_all(&directory)?;
            std::fs::write(directory.join(STARTS), "")?;
            symlink(shim, directory.join(NAME))?;
            let real = directory.join(REAL);
            let Some(terraform) = terraform else {
                std::fs::write(&real, pretender(&directory))?;
                return std::fs::set_permissions(&real, Permissions::from_mode(0o755));
            };
            symlink(terraform, real)
        };
        set_up().with_context(|| format!("cannot set up {}", directory.display()))?;
        Ok(Self { directory })
    }

    /// Without the real Terraform: lets every `apply` from now on wait until
    /// [`TerraformShim::let_applies_go`].
    pub(crate) fn hold_applies(&self) -> Result<()> {
        std::fs::write(self.directory.join(HOLD), "").context("cannot hold applies")
    }

    pub(crate) fn let_applies_go(&self) -> Result<()> {
        std::fs::remove_file(self.directory.join(HOLD)).context("cannot let applies go")
    }

    /// Without the real Terraform: lets every `apply` from now on fail whose task's name ends like this.
    pub(crate) fn fail_applies(&self, ending: &str) -> Result<()> {
        let line = format!("{ending}\n");
        std::fs::write(self.directory.join(FAIL), line).context("cannot let applies fail")
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn executable(&self) -> PathBuf {
        self.directory.join(NAME)
    }

    /// Time from the start of a process to the note that the shim takes of it, by which its notes are late,
    /// measured again and again. Blocks for about a second.
    pub(crate) fn lateness(&self) -> Result<Sample> {
        let directory = TempDir::new_in(&self.directory).context("cannot measure the shim")?;
        let shim = std::fs::read_link(self.executable()).context("the shim is gone")?;
        let shim = Self::install(
            directory.path().to_owned(),
            &shim,
            Some(Path::new("/bin/true")),
        )?;
        let executable = CString::new(shim.executable().into_os_string().into_vec())?;
        let nothing = PosixSpawnFileActions::init()?;
        let usual = PosixSpawnAttr::init()?;
        let mut sample = Sample::default();
        for _ in 0..LATENESS_TRIES {
            std::thread::sleep(LATENESS_PAUSE);
            let arguments = [executable.as_c_str(), c"apply"];
            let pid = posix_spawn(
                executable.as_c_str(),
                &nothing,
                &usual,
                &arguments,
                &[] as &[&CStr],
            )?;
            // The operating system lets the parent go on when the child has become the new program.
            let started = Moment::now();
            waitpid(pid, None)?;
            let starts = shim.starts()?;
            let noted = starts.last().context("the shim has noted nothing")?;
            sample.add_milliseconds(noted.at.since(started));
        }
        Ok(sample)
    }

    /// Every start so far, oldest first.
    pub(crate) fn starts(&self) -> Result<Vec<Start>> {
        let text = std::fs::read_to_string(self.directory.join(STARTS))
            .context("the notes of Terraform's starts cannot be read")?;
        Ok(text.lines().filter_map(Start::parse).collect())
    }

    /// The starts of `terraform apply` since a moment.
    pub(crate) fn applies_since(&self, moment: Moment) -> Result<Vec<Start>> {
        let mut starts = self.starts()?;
        starts.retain(|start| start.at >= moment && start.step == "apply");
        Ok(starts)
    }
}

fn pretender(directory: &Path) -> String {
    let [hold, fail] = [HOLD, FAIL].map(|name| directory.join(name).display().to_string());
    format!(
        r#"#!/bin/sh
case "$1" in
version) echo '{{"terraform_version":"{PRETENDED}"}}' ;;
validate) echo '{{"valid":true,"diagnostics":[]}}' ;;
init) mkdir -p .terraform ;;
apply)
    while [ -e '{hold}' ]; do sleep 0.05; done
    if [ -e '{fail}' ]; then
        read -r ending <'{fail}'
        case "$PWD" in *"$ending") echo 'Error: it is to fail' >&2; exit 1 ;; esac
    fi
    echo 'Apply complete!'
    ;;
esac
"#
    )
}
