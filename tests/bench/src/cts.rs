//! The process of cts, and getting its executable.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::site::Site;

/// It interrupts Terraform first and waits for it.
const STOP_DEADLINE: Duration = Duration::from_secs(45);

/// Lets cargo make sure that a release executable is there and not older than its sources; gives its
/// path.
pub(crate) async fn build(
    cargo: &Path,
    target: &Path,
    package: &str,
    binary: &str,
) -> Result<PathBuf> {
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

/// A running cts; killed when dropped.
#[derive(Debug)]
pub(crate) struct Cts {
    child: Child,
    pid: Pid,
}

/// What a process has used so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Its own processor time, without that of its children.
    pub(crate) cpu: Duration,
    /// The most memory that it ever had at once, in mebibytes.
    pub(crate) rss_peak: f64,
}

impl Cts {
    /// Starts it in a process group of its own, so that Ctrl-C does not reach it.
    pub(crate) fn start(
        executable: &Path,
        site: &Site,
        environment: &BTreeMap<OsString, OsString>,
        grpc_address: &str,
    ) -> Result<Self> {
        let log = File::create(log_file(site)).context("cannot create the log of cts")?;
        let child = Command::new(executable)
            .args(["start", "-bind-address", "127.0.0.1"])
            .args(["-grpc-address", grpc_address, "-config-file"])
            .arg(site.configuration())
            .current_dir(site.path())
            .env_clear()
            .envs(environment)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", executable.display()))?;
        let pid = child.id().context("cts has no process id")?;
        let pid = Pid::from_raw(pid.try_into().context("strange process id")?);
        Ok(Self { child, pid })
    }

    /// Ends it as an operator would; fails if it does not end well.
    pub(crate) async fn stop(mut self) -> Result<()> {
        kill(self.pid, Signal::SIGTERM).context("cannot stop cts")?;
        match timeout(STOP_DEADLINE, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => bail!("cts ended with {status}"),
            Ok(Err(error)) => Err(error).context("cannot wait for cts"),
            Err(_elapsed) => {
                self.child.kill().await.context("cannot kill cts")?;
                bail!("cts did not end within {STOP_DEADLINE:?} of SIGTERM and was killed")
            }
        }
    }

    pub(crate) fn usage(&self) -> Result<Usage> {
        let read = |name: &str| {
            std::fs::read_to_string(format!("/proc/{}/{name}", self.pid))
                .context("cts has ended, or this is not Linux")
        };
        let rss_peak = rss_peak(&read("status")?).context("no peak of memory")?;
        let per_second = sysconf(SysconfVar::CLK_TCK)?.context("unknown clock tick")?;
        let ticks = cpu_ticks(&read("stat")?).context("no processor time")?;
        let cpu = Duration::from_secs(ticks) / u32::try_from(per_second)?;
        Ok(Usage { cpu, rss_peak })
    }
}

pub(crate) fn log_file(site: &Site) -> PathBuf {
    site.path().join("cts.log")
}

/// From kibibytes of `/proc/<pid>/status` to mebibytes.
fn rss_peak(status: &str) -> Option<f64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u32 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kibibytes) / 1024.0)
}

/// User and system time, fields 14 and 15 of `/proc/<pid>/stat`. The second field, the name, may hold
/// spaces.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_understood() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 9 0 0 0 31 11 5 6 20 0 9 0 77";
        assert_eq!(cpu_ticks(stat), Some(42));
        assert_eq!(rss_peak("Name:\tcts\nVmHWM:\t   20480 kB\n"), Some(20.0));
    }
}
