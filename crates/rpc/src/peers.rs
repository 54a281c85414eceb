//! The replicas of a service: their addresses, their health, and calls spread over the healthy replicas.
//!
//! Every address is checked every two seconds, and at once after a lost connection; calls go to healthy addresses
//! only. A call waits while no address is healthy, so every call needs a time limit.

mod balance;
mod condition;
mod connector;
mod driver;
mod peer;
mod peer_log;
mod probe;
mod probe_times;
mod resolve;
mod roster;
mod warm_up;

use std::sync::Arc;

use cts_core::Clock;
use tokio::sync::watch;
use tonic::transport::Channel;

use crate::address::Address;
use crate::peers::balance::EndpointUpdates;
pub use crate::peers::condition::PeerCondition;
pub use crate::peers::driver::PeersDriver;
use crate::peers::driver::Published;
pub use crate::peers::peer::Peer;
pub use crate::peers::probe_times::ProbeTimes;
use crate::tls::ClientTls;

/// The replicas of one service. Cloning gives another handle on the same set.
///
/// A replica is healthy if its last health check (`grpc.health.v1`, the server as a whole) returned `SERVING` in time.
/// Whatever is known comes from the [`PeersDriver`]: while it does not run, no peer is healthy.
#[derive(Debug, Clone)]
pub struct Peers {
    healthy: watch::Receiver<Arc<[Peer]>>,
    conditions: watch::Receiver<Arc<[PeerCondition]>>,
    unfit: watch::Receiver<Option<Peer>>,
    balanced: Channel,
    /// Keeps the list of a fixed peer from ending.
    _fixed: Option<Arc<watch::Sender<Arc<[Peer]>>>>,
}

/// The peers of a service cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeersError {
    /// The list of addresses to follow is empty.
    #[error("no address of a {service} is configured")]
    NoAddress {
        /// The service.
        service: &'static str,
    },
    /// An address was written with `https`.
    #[error("the address https://{address} demands TLS, which is not configured (services.tls)")]
    TlsMissing {
        /// The address.
        address: String,
    },
}

impl Peers {
    /// Follows the peers of `service` (its name in the log) at `addresses`, with TLS if `tls` is given. Lines about
    /// outages have the times of `clock`.
    ///
    /// Nothing happens until the driver is run. Must be called inside a tokio runtime. The caller must check before,
    /// with [`TransportRule`](crate::TransportRule), whether plain text is allowed.
    pub fn new(
        service: &'static str,
        addresses: Vec<Address>,
        tls: Option<&ClientTls>,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, PeersDriver), PeersError> {
        if addresses.is_empty() {
            return Err(PeersError::NoAddress { service });
        }
        if tls.is_none()
            && let Some(address) = addresses.iter().find(|address| address.demands_tls())
        {
            return Err(PeersError::TlsMissing {
                address: address.to_string(),
            });
        }
        let (balanced, feed) = EndpointUpdates::new();
        let (healthy_tx, healthy) = watch::channel(Arc::default());
        let (conditions_tx, conditions) = watch::channel(Arc::default());
        let (unfit_tx, unfit) = watch::channel(None);
        let driver = PeersDriver::new(
            service,
            addresses,
            tls.map(ClientTls::subscribe),
            Published {
                healthy: healthy_tx,
                conditions: conditions_tx,
                unfit: unfit_tx,
            },
            (balanced.clone(), feed),
            clock,
        );
        let peers = Self {
            healthy,
            conditions,
            unfit,
            balanced,
            _fixed: None,
        };
        Ok((peers, driver))
    }

    /// One peer that is always healthy, such as a service in the same process.
    pub fn fixed(channel: Channel) -> Self {
        let peer = Peer::fixed("fixed", channel.clone());
        let (published, healthy) = watch::channel(Arc::from([peer]));
        let (_ended, conditions) = watch::channel(Arc::default());
        let (_ended, unfit) = watch::channel(None);
        Self {
            healthy,
            conditions,
            unfit,
            balanced: channel,
            _fixed: Some(Arc::new(published)),
        }
    }

    /// The peers that are healthy now, in the order of their addresses.
    ///
    /// A message comes with every change of the set and when channels were renewed for new TLS keys.
    /// Waiting for a change fails when the driver is gone, or the last handle of a fixed peer: keep a
    /// handle for as long as changes are waited for.
    pub fn healthy(&self) -> watch::Receiver<Arc<[Peer]>> {
        self.healthy.clone()
    }

    /// The condition of each peer, healthy or not, in the order of their sockets, and of each address that stands
    /// for no socket. Empty before the driver runs, and for a fixed peer.
    pub fn conditions(&self) -> Arc<[PeerCondition]> {
        Arc::clone(&self.conditions.borrow())
    }

    /// A peer that answers that it does not serve, while no peer is healthy. The peer itself knows the reason.
    pub fn unfit(&self) -> Option<Peer> {
        self.unfit.borrow().clone()
    }

    /// Waits until each peer was checked, and returns their conditions. Needs a time limit, and the driver.
    pub async fn checked(&self) -> Arc<[PeerCondition]> {
        let mut conditions = self.conditions.clone();
        let all = |known: &Arc<[PeerCondition]>| {
            !known.is_empty() && known.iter().all(PeerCondition::is_checked)
        };
        match conditions.wait_for(all).await {
            Ok(known) => Arc::clone(&known),
            Err(_ended) => self.conditions(),
        }
    }

    /// A channel that spreads calls over the healthy peers.
    ///
    /// A call waits while no peer is healthy, so it needs a time limit. A call to a peer that has just died fails as
    /// `UNAVAILABLE`; the effect of the call is then unknown, so the caller decides whether to repeat it. Calls in
    /// progress on a peer that is no longer healthy go on.
    pub fn channel(&self) -> Channel {
        self.balanced.clone()
    }
}
