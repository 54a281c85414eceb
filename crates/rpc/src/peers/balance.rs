//! Keeps the balancing channel at the set of healthy peers.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tokio::sync::mpsc;
use tonic::transport::channel::Change;
use tonic::transport::{Channel, Endpoint};

/// Changes on their way to the channel, which takes them up only with its next call.
const CHANGES: usize = 256;

/// Wanted state of a peer in the balanced set: a later generation replaces the connection.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) generation: u64,
    pub(super) endpoint: Endpoint,
}

/// Sends endpoint changes to the channel. Without calls, changes pile up; changes beyond the capacity wait here in the
/// form of the wanted set, so flapping peers fill no memory and block nothing.
pub(super) struct EndpointUpdates {
    changes: mpsc::Sender<Change<SocketAddr, Endpoint>>,
    wanted: BTreeMap<SocketAddr, Member>,
    sent: BTreeMap<SocketAddr, u64>,
}

impl EndpointUpdates {
    pub(super) fn new() -> (Channel, Self) {
        let (channel, changes) = Channel::balance_channel(CHANGES);
        let feed = Self {
            changes,
            wanted: BTreeMap::new(),
            sent: BTreeMap::new(),
        };
        (channel, feed)
    }

    pub(super) fn insert(&mut self, address: SocketAddr, member: Member) {
        self.wanted.insert(address, member);
    }

    pub(super) fn remove(&mut self, address: SocketAddr) {
        self.wanted.remove(&address);
    }

    /// Sends the changes that the channel has not received; returns when all are sent. May be dropped at any time.
    pub(super) async fn flush(&mut self) {
        while let Some((address, member)) = self.next() {
            let Ok(permit) = self.changes.reserve().await else {
                // All handles of the channel are gone, so no receiver is left.
                self.sent = generations(&self.wanted);
                return;
            };
            if let Some(member) = member {
                self.sent.insert(address, member.generation);
                permit.send(Change::Insert(address, member.endpoint));
            } else {
                self.sent.remove(&address);
                permit.send(Change::Remove(address));
            }
        }
    }

    pub(super) fn is_behind(&self) -> bool {
        self.sent != generations(&self.wanted)
    }

    fn next(&self) -> Option<(SocketAddr, Option<Member>)> {
        let surplus = self
            .sent
            .keys()
            .find(|address| !self.wanted.contains_key(address));
        if let Some(address) = surplus {
            return Some((*address, None));
        }
        self.wanted
            .iter()
            .find(|(address, member)| self.sent.get(address) != Some(&member.generation))
            .map(|(address, member)| (*address, Some(member.clone())))
    }
}

fn generations(members: &BTreeMap<SocketAddr, Member>) -> BTreeMap<SocketAddr, u64> {
    members
        .iter()
        .map(|(address, member)| (*address, member.generation))
        .collect()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn member(generation: u64) -> Member {
        Member {
            generation,
            endpoint: Endpoint::from_static("http://peer.invalid"),
        }
    }

    #[tokio::test]
    async fn a_channel_that_nobody_calls_holds_nobody_up() {
        let (_channel, mut feed) = EndpointUpdates::new();
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let mut held_up = false;
        for generation in 0..2 * CHANGES as u64 {
            feed.insert(address, member(generation));
            held_up |= feed.flush().now_or_never().is_none();
        }
        assert!(held_up && feed.is_behind());
        feed.remove(address);
        assert!(feed.flush().now_or_never().is_none());
        assert!(feed.is_behind());
    }

    #[tokio::test]
    async fn unchanged_members_are_not_sent_again() {
        let (channel, mut feed) = EndpointUpdates::new();
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        feed.insert(address, member(1));
        feed.flush().await;
        assert!(!feed.is_behind());
        feed.insert(address, member(1));
        assert!(!feed.is_behind());
        feed.insert(address, member(2));
        assert!(feed.is_behind());
        drop(channel);
        feed.flush().await;
        assert!(!feed.is_behind());
    }
}
