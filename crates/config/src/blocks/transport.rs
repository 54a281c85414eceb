//! The `transport` block of `consul` and `vault` (docs/configuration.md#transport).

use std::time::Duration;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::units;
use crate::keys::{Keyed, Keys};
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

impl Default for Transport {
    fn default() -> Self {
        Self {
            dial_keep_alive: Duration::from_secs(30),
            dial_timeout: Duration::from_secs(30),
            disable_keep_alives: false,
            idle_conn_timeout: Duration::from_secs(5),
            max_conns_per_host: MOST_CONNECTIONS,
            max_idle_conns: 0,
            max_idle_conns_per_host: 100,
            tls_handshake_timeout: Duration::from_secs(10),
        }
    }
}

impl Keyed for Transport {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        limit(keys, "dial_keep_alive", &mut self.dial_keep_alive);
        limit(keys, "dial_timeout", &mut self.dial_timeout);
        keys.flag("disable_keep_alives", &mut self.disable_keep_alives);
        limit(keys, "idle_conn_timeout", &mut self.idle_conn_timeout);
        keys.key(
            "max_conns_per_host",
            &mut self.max_conns_per_host,
            decode_connections,
            |most| Some(*most),
        );
        unused(keys, "max_idle_conns", &mut self.max_idle_conns);
        unused(
            keys,
            "max_idle_conns_per_host",
            &mut self.max_idle_conns_per_host,
        );
        limit(
            keys,
            "tls_handshake_timeout",
            &mut self.tls_handshake_timeout,
        );
    }
}

fn limit(keys: &mut Keys<'_, '_>, name: &'static str, setting: &mut Duration) {
    keys.key(name, setting, decode_limit, |limit| {
        Some(units::duration(*limit))
    });
}

fn unused(keys: &mut Keys<'_, '_>, name: &'static str, setting: &mut i64) {
    keys.key(name, setting, decode_unused, |most| Some(*most));
}

fn decode_limit(block: &mut Block<'_>, name: &'static str) -> Option<Located<Duration>> {
    let written = block.duration(name)?;
    let refusal = format!("`{}` cannot be negative", block.path_of(name));
    block.sink().checked(written, |span| {
        let span = u64::try_from(span).map(Duration::from_nanos);
        span.map_err(|_negative| refusal)
    })
}

fn decode_unused(block: &mut Block<'_>, name: &'static str) -> Option<Located<i64>> {
    let written = block.take(name, coerce::integer)?;
    if written.value < 0 {
        let path = block.path_of(name);
        let message = format!("`{path}` is negative, so no unused connection is kept");
        block.sink().warning(&written.place, message);
    }
    Some(written)
}

fn decode_connections(block: &mut Block<'_>, name: &'static str) -> Option<Located<usize>> {
    let written = block.take(name, coerce::integer)?;
    let path = block.path_of(name);
    block.sink().checked(written, |most| {
        let most = usize::try_from(most).ok();
        let most = most.filter(|most| *most >= FEWEST_CONNECTIONS);
        most.ok_or_else(|| format!("`{path}` must be at least {FEWEST_CONNECTIONS}"))
    })
}
