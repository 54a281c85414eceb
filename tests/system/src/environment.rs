//! The place of a process in a test, by its environment.

use std::fs;

use nix::unistd::Pid;

/// Value of a variable in the environment of a living process. Services of cts show theirs to root alone.
pub(crate) fn variable_of(process: Pid, name: &str) -> Option<String> {
    // A process that has ended, a zombie too, has no environment.
    let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(String::from_utf8_lossy(value).into_owned())
    })
}

/// All processes.
pub(crate) fn processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// The process that started `process`, if that still lives.
pub(crate) fn parent_of(process: Pid) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().map(Pid::from_raw)
}
