//! Resource usage of processes.
//!
//! Services of cts show less to a benchmark without privileges than to root: neither their `smaps` nor their
//! executable.

use std::fs;
use std::io::ErrorKind;
use std::iter::Sum;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use nix::unistd::{Pid, SysconfVar, sysconf};

/// Resource usage of a process, or the sum over several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Processor time so far, without that of children.
    pub(crate) cpu: Duration,
    /// Memory now, in mebibytes. Pages that several processes share count for each of them.
    pub(crate) rss: f64,
    /// Memory now, in mebibytes, with shared pages divided among their processes. `None` where only root may
    /// read it.
    pub(crate) pss: Option<f64>,
    /// The most that `rss` ever was.
    pub(crate) rss_peak: f64,
    /// Open files.
    pub(crate) files: u32,
}

impl Usage {
    /// Usage of one process.
    pub(crate) fn of(pid: Pid) -> Result<Self> {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/{pid}/{name}"))
                .context("a process has ended, or this is not Linux")
        };
        let status = read("status")?;
        let mebibytes =
            |text: &str, name| mebibytes(text, name).with_context(|| format!("no {name}"));
        let per_second = sysconf(SysconfVar::CLK_TCK)?.context("unknown clock tick")?;
        let ticks = cpu_ticks(&read("stat")?).context("no processor time")?;
        Ok(Self {
            cpu: Duration::from_secs(ticks) / u32::try_from(per_second)?,
            rss: mebibytes(&status, "VmRSS:")?,
            pss: pss(pid)?,
            rss_peak: mebibytes(&status, "VmHWM:")?,
            files: open_files(pid)?,
        })
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        let nothing = Self {
            cpu: Duration::ZERO,
            rss: 0.0,
            pss: Some(0.0),
            rss_peak: 0.0,
            files: 0,
        };
        usages.fold(nothing, |sum, usage| Self {
            cpu: sum.cpu + usage.cpu,
            rss: sum.rss + usage.rss,
            pss: sum.pss.zip(usage.pss).map(|(sum, more)| sum + more),
            rss_peak: sum.rss_peak + usage.rss_peak,
            files: sum.files + usage.files,
        })
    }
}

/// Usage of a process and of the copies of itself that it has started. Children that end while this runs do not
/// count.
pub(crate) fn with_twins(pid: Pid, executable: &Path) -> Result<Usage> {
    let own = Usage::of(pid)?;
    let twins = twins_below(pid, executable)
        .into_iter()
        .filter_map(|twin| Usage::of(twin).ok());
    Ok(std::iter::once(own).chain(twins).sum())
}

/// The file that a process executes, if it shows that.
pub(crate) fn executable_of(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Children that run this executable.
fn twins_below(pid: Pid, executable: &Path) -> Vec<Pid> {
    let own = fs::canonicalize(executable).ok();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw))
        .filter(|child| {
            let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            parent(&stat) == Some(pid) && own.is_some() && executable_of(*child) == own
        })
        .collect()
}

fn pss(pid: Pid) -> Result<Option<f64>> {
    match fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) {
        Ok(text) => Ok(Some(mebibytes(&text, "Pss:").context("no Pss:")?)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error).context("a process has ended, or this is not Linux"),
    }
}

fn open_files(pid: Pid) -> Result<u32> {
    let path = format!("/proc/{pid}/fd");
    match fs::read_dir(&path) {
        Ok(files) => Ok(u32::try_from(files.count())?),
        // Linux 6.2 and newer report the number of open files to every user.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let count = u32::try_from(fs::metadata(path)?.len())?;
            ensure!(
                count > 0,
                "before Linux 6.2 root alone can count the open files of cts"
            );
            Ok(count)
        }
        Err(error) => Err(error).context("no list of open files"),
    }
}

/// Converts kibibytes of a file such as `/proc/<pid>/status` to mebibytes.
fn mebibytes(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u32 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kibibytes) / 1024.0)
}

/// Fields of `/proc/<pid>/stat` from the third on. The second, the name, may hold spaces.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    let after_name = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after_name.split_whitespace()
}

/// User and system time, fields 14 and 15.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = fields(stat).skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Field 4.
fn parent(stat: &str) -> Option<Pid> {
    fields(stat).nth(1)?.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_understood() {
        let stat = "7 (a b) c) S 6 7 7 0 -1 4194560 9 0 0 0 31 11 5 6 20 0 9 0 77";
        assert_eq!(cpu_ticks(stat), Some(42));
        assert_eq!(parent(stat), Some(Pid::from_raw(6)));
        let status = "Name:\tcts\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n";
        assert_eq!(mebibytes(status, "VmHWM:"), Some(20.0));
        assert_eq!(mebibytes(status, "VmRSS:"), Some(10.0));
    }
}
