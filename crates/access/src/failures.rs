//! Slows down callers whose credentials are wrong (docs/access.md#wrong-credentials).

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use moka::sync::Cache;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Wrong credentials of one address that cost nothing.
const FREE: u32 = 10;

/// The first pause; it doubles with each further failure.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Answers that are held back at once. Further ones are not: each takes more than 30 KiB for as long, and one connection
/// may have a hundred of them.
const HELD: usize = 128;

/// An address that has not failed for so long begins again.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

/// Addresses that are remembered.
const ADDRESSES: u64 = 10_000;

/// Counts wrong credentials by the address that they came from. Good credentials are not slowed.
#[derive(Debug, Clone)]
pub struct Failures {
    counters: Cache<Option<IpAddr>, Arc<AtomicU32>>,
    held: Arc<Semaphore>,
}

impl Default for Failures {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(ADDRESSES)
            .time_to_idle(FORGOTTEN_AFTER);
        Self {
            counters: cache.build(),
            held: Arc::new(Semaphore::new(HELD)),
        }
    }
}

impl Failures {
    /// Counts a failure, and waits for the pause before it is answered. Without a wait if too many answers are held back
    /// already.
    pub async fn pause(&self, address: Option<IpAddr>) {
        let pause = self.count(address);
        if pause.is_zero() {
            return;
        }
        if let Ok(_held) = self.held.try_acquire() {
            sleep(pause).await;
        }
    }

    /// Counts a failure, and returns the pause before it is answered.
    fn count(&self, address: Option<IpAddr>) -> Duration {
        let counter = self.counters.get_with(address.map(network), Arc::default);
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
    use futures::StreamExt as _;
    use futures::stream::FuturesUnordered;
    use tokio::time::Instant;

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

    #[tokio::test(start_paused = true)]
    async fn answers_that_are_held_back_are_bounded() {
        let failures = Failures::default();
        let address = "10.0.0.1".parse().ok();
        for _ in 0..FREE {
            failures.pause(address).await;
        }
        let begun = Instant::now();
        let mut held: FuturesUnordered<_> = (0..=HELD).map(|_| failures.pause(address)).collect();
        held.next().await.unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO, "the one too many");
        held.next().await.unwrap();
        assert_eq!(begun.elapsed(), FIRST_PAUSE);
        drop(held);
        failures.pause(address).await;
        assert_eq!(begun.elapsed(), FIRST_PAUSE + LONGEST_PAUSE);
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
