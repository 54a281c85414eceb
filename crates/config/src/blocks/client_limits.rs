//! `gateway.limits` and `services.limits`: what clients may hold (docs/configuration.md#limits).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::keys::Keys;
use crate::settings::settings;

/// Fewer than one would close the door.
const PLACES: RangeInclusive<u32> = 1..=1_000_000;

/// How much there may be of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimit {
    /// For all clients together.
    pub total: u32,
    pub per_client: u32,
}

settings! {
    /// `services.limits`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct ServicesLimits {
        /// `connections` and `connections_per_client` of a listener for gRPC; 4,096 and 1,024 by default.
        pub connections: ClientLimit = ClientLimit { total: 4096, per_client: 1024 }
            => client_limit("connections_per_client"),
    }
}

settings! {
    /// `gateway.limits`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct GatewayLimits {
        /// `connections` and `connections_per_client`; 4,096 and 1,024 by default.
        pub connections: ClientLimit = ClientLimit { total: 4096, per_client: 1024 }
            => client_limit("connections_per_client"),
        /// `streams` and `streams_per_client`: logs and events; 1,024 and 256 by default.
        pub streams: ClientLimit = ClientLimit { total: 1024, per_client: 256 }
            => client_limit("streams_per_client"),
        /// `waiting` and `waiting_per_client`: requests that wait for a run; 512 and 256 by default.
        pub waiting: ClientLimit = ClientLimit { total: 512, per_client: 256 }
            => client_limit("waiting_per_client"),
        /// `request_time`: from the first byte of a request to its last, from 1 s to 1 h; 15 s by default.
        pub request_time: Duration = Duration::from_secs(15)
            => duration(&(Duration::from_secs(1)..=Duration::from_hours(1))),
        /// `answer_rate`: bytes of an answer that a client takes in a second, up to 1 GiB; 1 KiB by default.
        pub answer_rate: u32 = 1 << 10 => size(&(1..=(1 << 30))),
        /// `answer_size`: bytes of a list, from 1 MiB to 4 GiB; 64 MiB by default.
        pub answer_size: u64 = 64 << 20 => size(&((1 << 20)..=(4 << 30))),
        /// `names`: names of services in one request; 1,000 by default.
        pub names: u32 = 1000 => number(&PLACES),
    }
}

impl Keys<'_, '_> {
    /// Two keys: the limit for all clients together, and the one for each.
    fn client_limit(
        &mut self,
        total: &'static str,
        limit: &mut ClientLimit,
        per_client: &'static str,
    ) {
        self.number(total, &mut limit.total, &PLACES);
        self.number(per_client, &mut limit.per_client, &PLACES);
    }
}
