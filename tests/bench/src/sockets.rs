//! Connections of a process.

use std::collections::HashSet;
use std::fs;

use anyhow::{Context as _, Result};
use nix::unistd::Pid;

/// Established TCP connections that a process has made or accepted, but for those to ports that it listens on.
pub(crate) fn connections_of(pid: Pid) -> Result<u32> {
    let mut sockets = HashSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).context("the process has ended")? {
        // It may have been closed meanwhile.
        let Ok(target) = fs::read_link(entry?.path()) else {
            continue;
        };
        let target = target.to_string_lossy().into_owned();
        if let Some(inode) = target.strip_prefix("socket:[") {
            sockets.insert(inode.trim_end_matches(']').to_owned());
        }
    }
    let table = fs::read_to_string(format!("/proc/{pid}/net/tcp"))?;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    let is_own = |row: &&Vec<&str>| row.get(9).is_some_and(|inode| sockets.contains(*inode));
    let port = |row: &Vec<&str>| {
        row.get(1)
            .and_then(|local| local.rsplit_once(':'))
            .map(|(_, port)| port.to_owned())
    };
    let listening: HashSet<String> = rows
        .iter()
        .filter(is_own)
        .filter(|row| row.get(3) == Some(&"0A"))
        .filter_map(port)
        .collect();
    let made = rows
        .iter()
        .filter(is_own)
        .filter(|row| row.get(3) == Some(&"01"))
        .filter(|row| port(row).is_none_or(|port| !listening.contains(&port)));
    u32::try_from(made.count()).context("very many connections")
}
