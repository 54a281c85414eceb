//! Most clients of the listeners (docs/configuration.md#limits): the limit leaves descriptors for Consul, the database
//! and Terraform.

use std::num::NonZeroU32;

use cts_config::{ClientLimit as ConfiguredLimit, Config};
use cts_gateway::Limits;
use cts_listen::{ClientLimit, ClientLimiter};
use cts_runtime::ProcessEnv;

/// The part of the descriptors of a process that the connections of one listener may use. There are two listeners at
/// most.
const PART: u64 = 4;

/// The listener for gRPC.
pub(crate) fn services_limiter(config: &Config, process_env: &ProcessEnv) -> ClientLimiter {
    let limit = config.services.limits.connections;
    let key = "services.limits.connections";
    ClientLimiter::new(connections(key, limit, process_env.descriptors))
}

/// The REST API.
pub(crate) fn gateway_limits(config: &Config, process_env: &ProcessEnv) -> Limits {
    let limits = &config.gateway.limits;
    let key = "gateway.limits.connections";
    Limits {
        connections: connections(key, limits.connections, process_env.descriptors),
        streams: size(limits.streams),
        waiting: size(limits.waiting),
        request_time: limits.request_time,
        answer_rate: NonZeroU32::new(limits.answer_rate).unwrap_or(NonZeroU32::MIN),
        answer_bytes: usize::try_from(limits.answer_size).unwrap_or(usize::MAX),
        names: usize::try_from(limits.names).unwrap_or(usize::MAX),
    }
}

fn connections(key: &str, limit: ConfiguredLimit, descriptors: u64) -> ClientLimit {
    let wanted = size(limit);
    let most = usize::try_from(descriptors / PART).unwrap_or(usize::MAX);
    if most < wanted.total {
        tracing::warn!(
            target: "cli",
            descriptors,
            connections = most,
            "this process may open few files: {key} is lower than configured, so that some are left for Consul, the database and terraform; raise the limit (ulimit -n, LimitNOFILE)"
        );
    }
    ClientLimit {
        total: wanted.total.min(most).max(1),
        ..wanted
    }
}

fn size(limit: ConfiguredLimit) -> ClientLimit {
    let places = |number| usize::try_from(number).unwrap_or(usize::MAX);
    ClientLimit {
        total: places(limit.total),
        per_client: places(limit.per_client),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_others() {
        let limit = ConfiguredLimit {
            total: 4096,
            per_client: 1024,
        };
        let total = |descriptors| connections("key", limit, descriptors).total;
        assert_eq!(total(1 << 20), 4096);
        assert_eq!(total(1024), 256);
        assert_eq!(total(2), 1);
    }
}
