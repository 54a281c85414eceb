//! Permits for what clients hold open: a number in total, and a number for each client.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

/// Number of permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimit {
    /// Permits for all clients.
    pub total: usize,
    /// Permits for one client.
    pub per_client: usize,
}

impl ClientLimit {
    /// No limit, for servers whose clients are known.
    pub const UNLIMITED: Self = Self {
        total: usize::MAX,
        per_client: usize::MAX,
    };
}

/// Counts the permits that are in use, by client. Cheap to clone; the clones count together.
#[derive(Debug, Clone)]
pub struct ClientLimiter<K: Hash + Eq = IpAddr>(Arc<Inner<K>>);

#[derive(Debug)]
struct Inner<K> {
    size: ClientLimit,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    total: usize,
    by_client: HashMap<K, usize>,
}

/// Permits of one client. Dropping it gives them back.
#[derive(Debug)]
#[must_use]
pub struct ClientPermit<K: Hash + Eq = IpAddr> {
    limiter: ClientLimiter<K>,
    client: Option<K>,
    count: usize,
}

/// All permits are in use. The text completes a sentence about the requested thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    /// All clients together have as many as there may be.
    Total,
    /// This client has as many as it may have; others may get one.
    Client,
}

impl<K: Hash + Eq + Clone> ClientLimiter<K> {
    /// Makes an empty limiter.
    pub fn new(size: ClientLimit) -> Self {
        let taken = Taken {
            total: 0,
            by_client: HashMap::new(),
        };
        Self(Arc::new(Inner {
            size,
            taken: Mutex::new(taken),
        }))
    }

    /// A permit for `client`, for addresses as [`client_key`] gives it. Without one only the total counts.
    pub fn acquire(&self, client: Option<K>) -> Result<ClientPermit<K>, LimitReached> {
        let mut permit = self.none_yet(client);
        permit.add(1)?;
        Ok(permit)
    }

    /// No permit for `client` yet; [`ClientPermit::add`] acquires some.
    pub fn none_yet(&self, client: Option<K>) -> ClientPermit<K> {
        ClientPermit {
            limiter: self.clone(),
            client,
            count: 0,
        }
    }

    /// Returns the number of places.
    pub fn size(&self) -> ClientLimit {
        self.0.size
    }
}

impl<K: Hash + Eq> ClientLimiter<K> {
    fn taken(&self) -> MutexGuard<'_, Taken<K>> {
        self.0.taken.lock()
    }
}

impl<K: Hash + Eq + Clone> ClientPermit<K> {
    /// Acquires `more` permits, or none if there are too few.
    ///
    /// # Errors
    /// If the client, or all clients together, would have too many.
    pub fn add(&mut self, more: usize) -> Result<(), LimitReached> {
        let size = self.limiter.0.size;
        let mut taken = self.limiter.0.taken.lock();
        if let Some(client) = &self.client {
            let held = taken.by_client.get(client).copied().unwrap_or_default();
            if more > size.per_client.saturating_sub(held) {
                return Err(LimitReached::Client);
            }
        }
        if more > size.total.saturating_sub(taken.total) {
            return Err(LimitReached::Total);
        }
        taken.total += more;
        if let Some(client) = &self.client {
            *taken.by_client.entry(client.clone()).or_default() += more;
        }
        drop(taken);
        self.count += more;
        Ok(())
    }
}

impl fmt::Display for LimitReached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Total => "there are too many in total",
            Self::Client => "this client has too many",
        })
    }
}

impl<K: Hash + Eq> Drop for ClientPermit<K> {
    fn drop(&mut self) {
        let mut taken = self.limiter.taken();
        taken.total -= self.count;
        if let Some(client) = &self.client
            && let Some(held) = taken.by_client.get_mut(client)
        {
            *held -= self.count;
            if *held == 0 {
                taken.by_client.remove(client);
            }
        }
    }
}

/// Returns the client that the limits for one client count at `address`: `None` on this machine; with version 6
/// the network of 64 bits, which one client has for itself.
pub fn client_key(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V4(address) => Some(address.into()),
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Some(Ipv6Addr::from_bits(network).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> Option<IpAddr> {
        client_key(address.parse().unwrap())
    }

    #[test]
    fn places_are_counted_for_all_and_for_each_client() {
        let limiter = ClientLimiter::new(ClientLimit {
            total: 3,
            per_client: 2,
        });
        let (one, other) = (at("192.0.2.1"), at("192.0.2.2"));
        let first = limiter.acquire(one).unwrap();
        let _second = limiter.acquire(one).unwrap();
        assert_eq!(limiter.acquire(one).unwrap_err(), LimitReached::Client);
        let _third = limiter.acquire(other).unwrap();
        assert_eq!(limiter.acquire(other).unwrap_err(), LimitReached::Total);
        drop(first);
        let _again = limiter.acquire(one).unwrap();
        assert_eq!(limiter.acquire(None).unwrap_err(), LimitReached::Total);
    }

    #[test]
    fn permits_are_added_together_or_not_at_all() {
        let limiter = ClientLimiter::new(ClientLimit {
            total: 10,
            per_client: 6,
        });
        let mut one = limiter.none_yet(at("192.0.2.1"));
        let mut other = limiter.none_yet(at("192.0.2.2"));
        one.add(6).unwrap();
        assert_eq!(one.add(1), Err(LimitReached::Client));
        assert_eq!(other.add(5), Err(LimitReached::Total));
        other.add(4).unwrap();
        drop(one);
        assert_eq!(other.add(3), Err(LimitReached::Client));
        other.add(2).unwrap();
        drop(other);
        assert!(limiter.taken().by_client.is_empty());
        assert_eq!(limiter.taken().total, 0);
    }

    #[test]
    fn clients_without_connections_are_forgotten() {
        let limiter = ClientLimiter::new(ClientLimit {
            total: 1,
            per_client: 1,
        });
        for last in 0..=255 {
            let address = IpAddr::from([192, 0, 2, last]);
            drop(limiter.acquire(client_key(address)).unwrap());
        }
        assert!(limiter.taken().by_client.is_empty());
        assert_eq!(limiter.taken().total, 0);
    }

    #[test]
    fn clients_are_addresses_or_networks_elsewhere() {
        assert_eq!(at("127.0.0.9"), None);
        assert_eq!(at("::1"), None);
        assert_eq!(at("::ffff:127.0.0.1"), None);
        assert_eq!(at("::ffff:192.0.2.1"), at("192.0.2.1"));
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:ffff:ffff:ffff"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
    }
}
