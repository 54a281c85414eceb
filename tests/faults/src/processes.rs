//! Data about processes from `/proc`.

use std::fs;
use std::path::Path;

const GUARD: &str = "CTS_GUARD=";

/// Process ids.
pub(crate) fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Process group, and start in hundredths of a second since the machine was started.
pub(crate) fn group_and_start(pid: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    // Linux counts a hundred ticks in a second here, independent of the kernel's own clock.
    Some((fields.get(2)?.parse().ok()?, fields.get(19)?.parse().ok()?))
}

/// Start of a living process, in hundredths of a second since the machine was started.
pub(crate) fn start_of(pid: u32) -> Option<u64> {
    group_and_start(pid).map(|(_, started)| started)
}

/// Hundredths of a second since the machine was started.
pub fn uptime() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let digits = text.split(' ').next().unwrap_or_default().replace('.', "");
    digits.parse().unwrap_or_default()
}

/// The most memory that a living process has had, in KiB.
pub(crate) fn memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The environment of a process, `NAME=value` each. If the process ends while its environment is read, the text
/// may be cut off, so the last variable counts only if it is whole.
pub fn environment(pid: u32) -> Option<Vec<String>> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(whole_variables(&bytes))
}

fn whole_variables(bytes: &[u8]) -> Vec<String> {
    let variables = bytes.split_inclusive(|&byte| byte == 0);
    variables
        .filter_map(|variable| variable.strip_suffix(&[0]))
        .map(|variable| String::from_utf8_lossy(variable).into_owned())
        .collect()
}

/// A living guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardProcess {
    /// Its process id.
    pub pid: u32,
    /// Process id of its parent: of the worker, if that lives.
    pub parent: u32,
    /// Id of the worker.
    pub worker: String,
}

/// Living guards of workers whose test is at `site`.
pub fn guards(site: &Path) -> Vec<GuardProcess> {
    let marked = format!("TEST_SITE={}", site.display());
    let guard = |pid: u32| {
        let environment = environment(pid)?;
        let worker = environment.iter().find_map(|one| one.strip_prefix(GUARD))?;
        if !environment.contains(&marked) {
            return None;
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        Some(GuardProcess {
            pid,
            parent: fields.split(' ').nth(1)?.parse().ok()?,
            worker: worker.to_owned(),
        })
    };
    all().filter_map(guard).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_cut_off_is_none() {
        assert_eq!(whole_variables(b"A=1\0B=2\0C=/tmp/wo"), ["A=1", "B=2"]);
        assert_eq!(whole_variables(b"A=\0"), ["A="]);
        assert!(whole_variables(b"").is_empty());
    }
}
