//! Slows down callers whose credentials are wrong (docs/access.md#wrong-credentials).

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use moka::sync::Cache;

/// Wrong credentials of one address that cost nothing.
const FREE: u32 = 10;

/// The first pause; it doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An address that has not failed for so long begins again.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

/// Addresses that are remembered.
const ADDRESSES: u64 = 10_000;

/// Counts wrong credentials by the address that they came from. Good credentials are not slowed.
#[derive(Debug, Clone)]
pub struct Failures(Cache<Option<IpAddr>, Arc<AtomicU32>>);

impl Default for Failures {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(ADDRESSES)
            .time_to_idle(FORGOTTEN_AFTER);
        Self(cache.build())
    }
}

impl Failures {
    /// Counts a failure, and returns the pause before it is answered.
    pub fn count(&self, address: Option<IpAddr>) -> Duration {
        let counter = self.0.get_with(address.map(network), Arc::default);
        let failed = counter.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        match failed.checked_sub(FREE) {
            None | Some(0) => Duration::ZERO,
            Some(over) => {
                let factor = 1_u32.checked_shl(over - 1).unwrap_or(u32::MAX);
                FIRST_PAUSE.saturating_mul(factor).min(LONGEST_PAUSE)
            }
        }
    }
}

/// One host has a whole network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_fails_again_and_again_waits_longer() {
        let failures = Failures::default();
        let [one, other] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().ok());
        for _ in 0..FREE {
            assert_eq!(failures.count(one), Duration::ZERO);
        }
        let pauses: Vec<Duration> = (0..40).map(|_| failures.count(one)).collect();
        assert_eq!(pauses[..2], [FIRST_PAUSE, 2 * FIRST_PAUSE]);
        assert_eq!(pauses.last(), Some(&LONGEST_PAUSE));
        assert_eq!(failures.count(other), Duration::ZERO);
    }

    #[test]
    fn addresses_of_one_network_count_as_one() {
        let failures = Failures::default();
        for host in 0..=FREE {
            let address = format!("2001:db8::{host:x}").parse().ok();
            let pause = failures.count(address);
            assert_eq!(pause.is_zero(), host < FREE, "{host}");
        }
    }
}
