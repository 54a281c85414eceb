//! `gateway.limits` and `services.limits`: what clients may hold (docs/configuration.md#limits).

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::decode::block::Block;

/// Fewer than one would close the door.
const PLACES: RangeInclusive<u32> = 1..=1_000_000;

const REQUEST_TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(1);

const ANSWER_RATES: RangeInclusive<u64> = 1..=(1 << 30);

const ANSWER_SIZES: RangeInclusive<u64> = (1 << 20)..=(4 << 30);

/// The keys of the limits, for all clients together and for each.
pub(crate) const CONNECTIONS: [&str; 2] = ["connections", "connections_per_client"];
pub(crate) const STREAMS: [&str; 2] = ["streams", "streams_per_client"];
pub(crate) const WAITING: [&str; 2] = ["waiting", "waiting_per_client"];

/// How much there may be of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimit {
    /// For all clients together.
    pub total: u32,
    /// For one client.
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

pub(crate) fn decode_services_limits(mut block: Block<'_>) -> ServicesLimits {
    let default = ServicesLimits::default();
    let connections = client_limit(&mut block, CONNECTIONS, default.connections);
    block.finish();
    ServicesLimits { connections }
}

pub(crate) fn decode_gateway_limits(mut block: Block<'_>) -> GatewayLimits {
    let default = GatewayLimits::default();
    let connections = client_limit(&mut block, CONNECTIONS, default.connections);
    let streams = client_limit(&mut block, STREAMS, default.streams);
    let waiting = client_limit(&mut block, WAITING, default.waiting);
    let request_time = block.duration_within("request_time", &REQUEST_TIMES);
    let rate = block.size_within("answer_rate", &ANSWER_RATES);
    let rate = rate.and_then(|rate| u32::try_from(rate).ok());
    let answer_size = block.size_within("answer_size", &ANSWER_SIZES);
    let names = block.number_within("names", &PLACES);
    block.finish();
    GatewayLimits {
        connections,
        streams,
        waiting,
        request_time: request_time.unwrap_or(default.request_time),
        answer_rate: rate.unwrap_or(default.answer_rate),
        answer_size: answer_size.unwrap_or(default.answer_size),
        names: names.unwrap_or(default.names),
    }
}

fn client_limit(
    block: &mut Block<'_>,
    [total, per_client]: [&'static str; 2],
    default: ClientLimit,
) -> ClientLimit {
    let total = block.number_within(total, &PLACES);
    let per_client = block.number_within(per_client, &PLACES);
    ClientLimit {
        total: total.unwrap_or(default.total),
        per_client: per_client.unwrap_or(default.per_client),
    }
}
