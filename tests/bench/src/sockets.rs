//! Connections to a server.

use std::collections::HashSet;
use std::fs;

use anyhow::{Context as _, Result};

/// State of a connection that is in use.
const ESTABLISHED: &str = "01";

/// Established TCP connections to a port of this machine, without those that this process has made.
///
/// Every user can read the table of connections, but not the open files of a service of cts.
pub(crate) fn connections_to(port: u16) -> Result<u32> {
    let mut own = HashSet::new();
    for entry in fs::read_dir("/proc/self/fd").context("no list of open files")? {
        // The file may have been closed in the meantime.
        let Ok(target) = fs::read_link(entry?.path()) else {
            continue;
        };
        let target = target.to_string_lossy();
        if let Some(inode) = target.strip_prefix("socket:[") {
            own.insert(inode.trim_end_matches(']').to_owned());
        }
    }
    let table = fs::read_to_string("/proc/self/net/tcp")?;
    let made = sockets_to(&table, port).filter(|inode| !own.contains(*inode));
    u32::try_from(made.count()).context("very many connections")
}

/// The clients' ends of the connections to a port.
fn sockets_to(table: &str, port: u16) -> impl Iterator<Item = &str> {
    let port = format!("{port:04X}");
    table.lines().skip(1).filter_map(move |line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, _, remote, state, ..] = fields[..] else {
            return None;
        };
        let is_ours = state == ESTABLISHED && remote.rsplit_once(':')?.1 == port;
        fields.get(9).copied().filter(|_| is_ours)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_established_connections_to_the_port_count() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:2134 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0100007F:9C40 0100007F:2134 01 00000000:00000000 00:00000000 00000000     0        0 12 1
   2: 0100007F:2134 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 13 1
   3: 0100007F:9C41 0100007F:2134 06 00000000:00000000 00:00000000 00000000     0        0 0 1
";
        let found: Vec<&str> = sockets_to(table, 8500).collect();
        assert_eq!(found, ["12"]);
    }
}
