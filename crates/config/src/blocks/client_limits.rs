//! `gateway.limits` and `services.limits`: what clients may hold (docs/configuration.md#limits).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::keys::{Keyed, Keys};

/// Fewer than one would close the door.
const PLACES: RangeInclusive<u32> = 1..=1_000_000;

const REQUEST_TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

const ANSWER_RATES: RangeInclusive<u64> = 1..=(1 << 30);

const ANSWER_SIZES: RangeInclusive<u64> = (1 << 20)..=(4 << 30);

/// How much there may be of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimit {
    /// For all clients together.
    pub total: u32,
    pub per_client: u32,
}

/// `services.limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServicesLimits {
    /// `connections` and `connections_per_client` of a listener for gRPC; 4,096 and 1,024 by default.
    pub connections: ClientLimit,
}

/// `gateway.limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayLimits {
    /// `connections` and `connections_per_client`; 4,096 and 1,024 by default.
    pub connections: ClientLimit,
    /// `streams` and `streams_per_client`: logs and events; 1,024 and 256 by default.
    pub streams: ClientLimit,
    /// `waiting` and `waiting_per_client`: requests that wait for a run; 512 and 256 by default.
    pub waiting: ClientLimit,
    /// `request_time`: from the first byte of a request to its last, from 1 s to 1 h; 15 s by default.
    pub request_time: Duration,
    /// `answer_rate`: bytes of an answer that a client takes in a second, up to 1 GiB; 1 KiB by default.
    pub answer_rate: u32,
    /// `answer_size`: bytes of a list, from 1 MiB to 4 GiB; 64 MiB by default.
    pub answer_size: u64,
    /// `names`: names of services in one request; 1,000 by default.
    pub names: u32,
}

impl Default for ServicesLimits {
    fn default() -> Self {
        Self {
            connections: ClientLimit {
                total: 4096,
                per_client: 1024,
            },
        }
    }
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            connections: ClientLimit {
                total: 4096,
                per_client: 1024,
            },
            streams: ClientLimit {
                total: 1024,
                per_client: 256,
            },
            waiting: ClientLimit {
                total: 512,
                per_client: 256,
            },
            request_time: Duration::from_secs(15),
            answer_rate: 1 << 10,
            answer_size: 64 << 20,
            names: 1000,
        }
    }
}

impl Keyed for ServicesLimits {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        self.connections
            .keys(keys, "connections", "connections_per_client");
    }
}

impl Keyed for GatewayLimits {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        self.connections
            .keys(keys, "connections", "connections_per_client");
        self.streams.keys(keys, "streams", "streams_per_client");
        self.waiting.keys(keys, "waiting", "waiting_per_client");
        keys.duration("request_time", &mut self.request_time, &REQUEST_TIMES);
        keys.size("answer_rate", &mut self.answer_rate, &ANSWER_RATES);
        keys.size("answer_size", &mut self.answer_size, &ANSWER_SIZES);
        keys.number("names", &mut self.names, &PLACES);
    }
}

impl ClientLimit {
    fn keys(&mut self, keys: &mut Keys<'_, '_>, total: &'static str, per_client: &'static str) {
        keys.number(total, &mut self.total, &PLACES);
        keys.number(per_client, &mut self.per_client, &PLACES);
    }
}
