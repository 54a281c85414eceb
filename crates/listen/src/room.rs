//! Places for what clients hold open: so many in total, and so many for each client.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Places for all clients.
    pub total: usize,
    /// Places for one client.
    pub per_client: usize,
}

impl Size {
    /// Size for servers whose clients are known.
    pub const UNLIMITED: Self = Self {
        total: usize::MAX,
        per_client: usize::MAX,
    };
}

/// Counts the places that are taken. Cheap to clone; the clones count together.
#[derive(Debug, Clone)]
pub struct Room(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    size: Size,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    total: usize,
    by_client: HashMap<IpAddr, usize>,
}

/// A place, which is free again when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Place {
    room: Room,
    client: Option<IpAddr>,
}

/// All places are taken. The text completes a sentence about the requested thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// No client finds a place.
    All,
    /// This client finds no place; others may find one.
    Client,
}

impl Room {
    /// Makes an empty room.
    pub fn new(size: Size) -> Self {
        Self(Arc::new(Inner {
            size,
            taken: Mutex::default(),
        }))
    }

    /// A place for `client`, as [`client`] gives it. Without one only the total counts.
    pub fn take(&self, client: Option<IpAddr>) -> Result<Place, Full> {
        let mut taken = self.taken();
        if let Some(client) = client {
            let held = taken.by_client.get(&client).copied().unwrap_or_default();
            if held >= self.0.size.per_client {
                return Err(Full::Client);
            }
        }
        if taken.total >= self.0.size.total {
            return Err(Full::All);
        }
        taken.total += 1;
        if let Some(client) = client {
            *taken.by_client.entry(client).or_default() += 1;
        }
        Ok(Place {
            room: self.clone(),
            client,
        })
    }

    /// Returns the number of places.
    pub fn size(&self) -> Size {
        self.0.size
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "there are too many in total",
            Self::Client => "this client has too many",
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.total -= 1;
        if let Some(client) = self.client
            && let Some(held) = taken.by_client.get_mut(&client)
        {
            *held -= 1;
            if *held == 0 {
                taken.by_client.remove(&client);
            }
        }
    }
}

/// Returns the client that the limits for one client count at `address`: `None` on this machine; with version 6
/// the network of 64 bits, which one client has for itself.
pub fn client(address: IpAddr) -> Option<IpAddr> {
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
        client(address.parse().unwrap())
    }

    #[test]
    fn places_are_counted_for_all_and_for_each_client() {
        let room = Room::new(Size {
            total: 3,
            per_client: 2,
        });
        let (one, other) = (at("192.0.2.1"), at("192.0.2.2"));
        let first = room.take(one).unwrap();
        let _second = room.take(one).unwrap();
        assert_eq!(room.take(one).unwrap_err(), Full::Client);
        let _third = room.take(other).unwrap();
        assert_eq!(room.take(other).unwrap_err(), Full::All);
        drop(first);
        let _again = room.take(one).unwrap();
        assert_eq!(room.take(None).unwrap_err(), Full::All);
    }

    #[test]
    fn who_has_gone_is_forgotten() {
        let room = Room::new(Size {
            total: 1,
            per_client: 1,
        });
        for last in 0..=255 {
            let address = IpAddr::from([192, 0, 2, last]);
            drop(room.take(client(address)).unwrap());
        }
        assert!(room.taken().by_client.is_empty());
        assert_eq!(room.taken().total, 0);
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
