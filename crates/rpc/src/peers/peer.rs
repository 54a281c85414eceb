//! A handle on one replica.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::RwLock;
use tonic::transport::Channel;

/// One replica of a service. Cloning gives another handle on the same peer.
#[derive(Clone)]
pub struct Peer(Arc<PeerState>);

struct PeerState {
    id: String,
    address: Option<SocketAddr>,
    channel: RwLock<Channel>,
}

impl Peer {
    /// Makes a peer that stays in the list, healthy or not; `id` distinguishes it from others.
    pub fn fixed(id: &str, channel: Channel) -> Self {
        Self::new(id.to_owned(), None, channel)
    }

    pub(super) fn new(id: String, address: Option<SocketAddr>, channel: Channel) -> Self {
        Self(Arc::new(PeerState {
            id,
            address,
            channel: RwLock::new(channel),
        }))
    }

    /// Identifies the peer among the peers of its service: its socket as text. A replica that has moved counts
    /// as a different peer.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Its socket; the peer of [`Peers::fixed`](crate::Peers::fixed) has none.
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.address
    }

    /// Returns a channel to this peer alone, healthy or not. Call this for each stream: after the TLS keys have
    /// changed, the channel is a new channel.
    pub fn channel(&self) -> Channel {
        let channel = self.0.channel.read();
        channel.clone()
    }

    pub(super) fn renew(&self, channel: Channel) {
        let mut current = self.0.channel.write();
        *current = channel;
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Peer").field(&self.0.id).finish()
    }
}
