//! The `transport` block of `consul` and `vault` (docs/configuration.md#transport).

use std::time::Duration;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::units;
use crate::keys::Keys;
use crate::report::location::Located;
use crate::settings::settings;

settings! {
    /// Limits of a connection.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Transport {
        /// Interval of TCP keep-alive probes; zero for that of Go, 15 s.
        pub dial_keep_alive: Duration = Duration::from_secs(30) => limit,
        /// Limit for establishing a connection; zero for no limit.
        pub dial_timeout: Duration = Duration::from_secs(30) => limit,
        /// Whether every request gets a connection of its own.
        pub disable_keep_alives: bool = false => flag,
        /// How long an unused connection is kept; zero for no limit.
        pub idle_conn_timeout: Duration = Duration::from_secs(5) => limit,
        /// Connections for each host, cts-only; at least 8. By default half of what Consul takes of a client unless it
        /// is configured otherwise: others have the same address.
        pub max_conns_per_host: usize = 100 => key(decode_connections, |most| Some(*most)),
        /// Unused connections over all hosts, as written; [`Self::unused_connections`] is what counts.
        pub max_idle_conns: i64 = 0 => key(decode_unused, |most| Some(*most)),
        /// Unused connections for each host, as written.
        pub max_idle_conns_per_host: i64 = 100 => key(decode_unused, |most| Some(*most)),
        /// Limit for the TLS handshake; zero for no limit.
        pub tls_handshake_timeout: Duration = Duration::from_secs(10) => limit,
    }
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

/// The minimum for following: four connections to learn of changes, one to read.
const FEWEST_CONNECTIONS: usize = 8;

impl Keys<'_, '_> {
    /// A duration of any length.
    fn limit(&mut self, name: &'static str, setting: &mut Duration) {
        self.key(name, setting, decode_limit, |limit| {
            Some(units::duration(*limit))
        });
    }
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
