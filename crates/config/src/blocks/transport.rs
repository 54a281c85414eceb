//! The `transport` block of `consul` and `vault` (docs/configuration.md#transport).

use std::time::Duration;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::Located;

/// Limits of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transport {
    /// Interval of TCP keep-alive probes; zero for that of Go, 15 s.
    pub dial_keep_alive: Duration,
    /// Limit for establishing a connection; zero for no limit.
    pub dial_timeout: Duration,
    /// Whether every request gets a connection of its own.
    pub disable_keep_alives: bool,
    /// How long an unused connection is kept; zero for no limit.
    pub idle_conn_timeout: Duration,
    /// Unused connections over all hosts, as written; [`Self::unused_connections`] is what counts.
    pub max_idle_conns: i64,
    /// Connections for each host, cts-only; at least 8.
    pub max_conns_per_host: usize,
    /// Unused connections for each host, as written.
    pub max_idle_conns_per_host: i64,
    /// Limit for the TLS handshake; zero for no limit.
    pub tls_handshake_timeout: Duration,
}

impl Transport {
    /// Unused connections that are kept to the one host. As in Go, a number below 0 keeps none; 0 is no limit over all
    /// hosts, and 2 for each host.
    pub fn unused_connections(&self) -> usize {
        const OF_GO: usize = 2;
        let count = |written| usize::try_from(written).unwrap_or(0);
        let of_host = match self.max_idle_conns_per_host {
            0 => OF_GO,
            written => count(written),
        };
        match self.max_idle_conns {
            0 => of_host,
            written => of_host.min(count(written)),
        }
    }
}

/// Half of what Consul takes of a client unless it is configured otherwise: others have the same address.
const MOST_CONNECTIONS: usize = 100;
/// The minimum for following: four connections to learn of changes, one to read.
const FEWEST_CONNECTIONS: usize = 8;

/// Reads the `transport` of `parent`, which may be absent.
pub(crate) fn decode_transport(parent: &mut Block<'_>) -> Transport {
    let mut block = parent.block_or_empty("transport");
    let transport = Transport {
        dial_keep_alive: limit(&mut block, "dial_keep_alive", 30),
        dial_timeout: limit(&mut block, "dial_timeout", 30),
        disable_keep_alives: block.flag("disable_keep_alives").unwrap_or(false),
        idle_conn_timeout: limit(&mut block, "idle_conn_timeout", 5),
        max_conns_per_host: most_connections(&mut block),
        max_idle_conns: unused(&mut block, "max_idle_conns", 0),
        max_idle_conns_per_host: unused(&mut block, "max_idle_conns_per_host", 100),
        tls_handshake_timeout: limit(&mut block, "tls_handshake_timeout", 10),
    };
    block.finish();
    transport
}

fn limit(block: &mut Block<'_>, name: &'static str, default_seconds: u64) -> Duration {
    let default = Duration::from_secs(default_seconds);
    let Some(written) = block.duration(name) else {
        return default;
    };
    u64::try_from(written.value).map_or_else(
        |_negative| {
            refuse_negative(block, name, &written);
            default
        },
        Duration::from_nanos,
    )
}

fn unused(block: &mut Block<'_>, name: &'static str, default: i64) -> i64 {
    let Some(written) = block.take(name, coerce::integer) else {
        return default;
    };
    if written.value < 0 {
        let path = block.path_of(name);
        let message = format!("`{path}` is negative, so no unused connection is kept");
        block.sink().warning(&written.place, message);
    }
    written.value
}

fn most_connections(block: &mut Block<'_>) -> usize {
    const NAME: &str = "max_conns_per_host";
    let Some(written) = block.take(NAME, coerce::integer) else {
        return MOST_CONNECTIONS;
    };
    usize::try_from(written.value)
        .ok()
        .filter(|most| *most >= FEWEST_CONNECTIONS)
        .unwrap_or_else(|| {
            let path = block.path_of(NAME);
            let message = format!("`{path}` must be at least {FEWEST_CONNECTIONS}");
            block.sink().error(&written.place, message);
            MOST_CONNECTIONS
        })
}

fn refuse_negative(block: &Block<'_>, name: &str, written: &Located<i64>) {
    let message = format!("`{}` cannot be negative", block.path_of(name));
    block.sink().error(&written.place, message);
}
