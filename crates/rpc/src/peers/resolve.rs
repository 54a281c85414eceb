//! Resolves addresses to sockets.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_runtime::Outage;
use futures::future::join_all;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::address::Address;

/// Time for one look-up.
const LIMIT: Duration = Duration::from_secs(5);

/// Results of the look-ups of each address, in the order of the addresses.
pub(super) type Answers = Vec<io::Result<BTreeSet<SocketAddr>>>;

/// Waits for the pause or `now`, then looks all addresses up. IP addresses need no look-up.
pub(super) async fn resolve_after(
    pause: Duration,
    now: Arc<Notify>,
    addresses: Arc<[Address]>,
) -> Answers {
    tokio::select! {
        () = sleep(pause) => {}
        () = now.notified() => {}
    }
    join_all(addresses.iter().map(resolve)).await
}

async fn resolve(address: &Address) -> io::Result<BTreeSet<SocketAddr>> {
    if let Some(ip) = address.ip() {
        return Ok([SocketAddr::new(ip, address.port())].into());
    }
    let host = address.host();
    let found = timeout(LIMIT, tokio::net::lookup_host((host, address.port())))
        .await
        .map_err(|_elapsed| io::Error::from(io::ErrorKind::TimedOut))??;
    // Without the scope of a link-local address, which no URL can hold.
    let sockets: BTreeSet<_> = found
        .map(|socket| SocketAddr::new(socket.ip(), socket.port()))
        .collect();
    if sockets.is_empty() {
        return Err(io::Error::other("the name has no addresses"));
    }
    Ok(sockets)
}

/// Known sockets of each address: a look-up that fails changes nothing.
pub(super) struct KnownSockets {
    service: &'static str,
    addresses: Arc<[Address]>,
    sockets: Vec<BTreeSet<SocketAddr>>,
    outages: Vec<Outage>,
}

impl KnownSockets {
    pub(super) fn new(service: &'static str, addresses: Arc<[Address]>) -> Self {
        Self {
            service,
            sockets: vec![BTreeSet::new(); addresses.len()],
            outages: vec![Outage::default(); addresses.len()],
            addresses,
        }
    }

    pub(super) fn learn(&mut self, answers: Answers) {
        for (index, answer) in answers.into_iter().enumerate() {
            let (service, address) = (self.service, &self.addresses[index]);
            match answer {
                Ok(sockets) => {
                    self.sockets[index] = sockets;
                    self.outages[index].works();
                }
                Err(error) => {
                    cts_runtime::log_failure!(self.outages[index], service, %address, error = %Chain(&error), "cannot look up the name of a peer, trying on");
                }
            }
        }
    }

    /// Addresses that stand for no socket.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = &Address> {
        let addresses = self.addresses.iter().zip(&self.sockets);
        addresses.filter_map(|(address, sockets)| sockets.is_empty().then_some(address))
    }

    /// All sockets, each with the first address that resolves to it.
    pub(super) fn sockets(&self) -> impl Iterator<Item = (SocketAddr, &Address)> {
        self.sockets
            .iter()
            .zip(&*self.addresses)
            .flat_map(|(sockets, address)| sockets.iter().map(move |socket| (*socket, address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_of_numbers_is_what_it_says() {
        let address: Address = "[::1]:8560".parse().unwrap();
        let sockets = resolve(&address).await.unwrap();
        assert_eq!(sockets, ["[::1]:8560".parse().unwrap()].into());
    }

    #[test]
    fn a_failed_look_up_forgets_nothing() {
        let addresses: Arc<[Address]> = ["a:1".parse().unwrap(), "b:2".parse().unwrap()].into();
        let socket = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mut known = KnownSockets::new("test", addresses);
        known.learn(vec![
            Ok([socket(1)].into()),
            Ok([socket(1), socket(2)].into()),
        ]);
        known.learn(vec![
            Err(io::ErrorKind::TimedOut.into()),
            Ok([socket(3)].into()),
        ]);
        let sockets: Vec<_> = known
            .sockets()
            .map(|(socket, address)| (socket.port(), address.to_string()))
            .collect();
        assert_eq!(sockets, [(1, "a:1".into()), (3, "b:2".into())]);
    }
}
