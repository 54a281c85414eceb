//! Known state of each peer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{Backoff, Pauses};
use tokio::sync::Notify;
use tonic::transport::Endpoint;

use crate::address::Address;
use crate::client::peer_endpoint;
use crate::peers::condition::PeerCondition;
use crate::peers::connector::watched_channel;
use crate::peers::peer::Peer;
use crate::peers::probe::{Probe, Unhealthy, Wait};
use crate::peers::probe_times::ProbeTimes;
use crate::tls::ClientKeys;

/// A peer and its judged health.
pub(super) struct Entry {
    pub(super) peer: Peer,
    pub(super) endpoint: Endpoint,
    /// Changes with the connections: the answer to an earlier generation is ignored.
    pub(super) generation: u64,
    address: Address,
    socket: SocketAddr,
    lost: Arc<Notify>,
    health: PeerHealth,
    /// Beginning of this health.
    since: Option<DateTime<Utc>>,
    /// Reason of the last check, if that failed.
    reason: String,
    /// Whether the peer answered the last check with the status that it does not serve.
    is_unfit: bool,
}

/// Result of the last probe of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Unknown,
    Healthy,
    Unhealthy,
}

enum PeerHealth {
    Unknown,
    Healthy,
    Unhealthy(Pauses),
}

impl Entry {
    pub(super) fn new(
        socket: SocketAddr,
        address: &Address,
        keys: Option<&ClientKeys>,
        generation: u64,
    ) -> Self {
        let endpoint = peer_endpoint(address, socket, keys);
        let lost = Arc::new(Notify::new());
        let channel = watched_channel(&endpoint, socket, Arc::clone(&lost));
        Self {
            peer: Peer::new(socket.to_string(), Some(socket), channel),
            endpoint,
            generation,
            address: address.clone(),
            socket,
            lost,
            health: PeerHealth::Unknown,
            since: None,
            reason: String::new(),
            is_unfit: false,
        }
    }

    /// Starts again with other keys. The verdict on the peer stays until it has answered.
    pub(super) fn renew(&mut self, keys: Option<&ClientKeys>, generation: u64) {
        self.endpoint = peer_endpoint(&self.address, self.socket, keys);
        self.lost = Arc::new(Notify::new());
        self.generation = generation;
        let channel = watched_channel(&self.endpoint, self.socket, Arc::clone(&self.lost));
        self.peer.renew(channel);
    }

    pub(super) fn is_healthy(&self) -> bool {
        matches!(self.health, PeerHealth::Healthy)
    }

    pub(super) const fn is_unfit(&self) -> bool {
        self.is_unfit
    }

    /// The question to ask without delay.
    pub(super) fn first_probe(&self, times: &ProbeTimes) -> Probe {
        self.probe(times, Wait::Nothing)
    }

    pub(super) fn health(&self) -> Health {
        match self.health {
            PeerHealth::Unknown => Health::Unknown,
            PeerHealth::Healthy => Health::Healthy,
            PeerHealth::Unhealthy(_) => Health::Unhealthy,
        }
    }

    /// The configured address that stands for the peer.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Takes an answer in and gives the next question.
    pub(super) fn learn(
        &mut self,
        verdict: &Result<(), Unhealthy>,
        times: &ProbeTimes,
        now: DateTime<Utc>,
    ) -> Probe {
        let before = self.health();
        self.is_unfit = matches!(verdict, Err(Unhealthy::NotServing));
        let wait = match verdict {
            Ok(()) => {
                self.health = PeerHealth::Healthy;
                self.reason.clear();
                Wait::PauseOrLoss(times.every, Arc::clone(&self.lost))
            }
            Err(reason) => {
                self.reason = reason.to_string();
                Wait::Pause(self.next_pause(times))
            }
        };
        if self.health() != before {
            self.since = Some(now);
        }
        self.probe(times, wait)
    }

    pub(super) fn condition(&self) -> PeerCondition {
        PeerCondition {
            address: self.address.to_string(),
            socket: self.socket.to_string(),
            healthy: self.is_healthy(),
            since: self.since,
            reason: self.reason.clone(),
        }
    }

    fn next_pause(&mut self, times: &ProbeTimes) -> Duration {
        if let PeerHealth::Unhealthy(pauses) = &mut self.health {
            return pauses.next_pause();
        }
        let backoff = Backoff::new(times.retry_min / 2, times.retry_max).with_jitter(1.0);
        let mut pauses = backoff.pauses(fastrand::f64);
        let pause = pauses.next_pause();
        self.health = PeerHealth::Unhealthy(pauses);
        pause
    }

    fn probe(&self, times: &ProbeTimes, wait: Wait) -> Probe {
        Probe {
            socket: self.socket,
            generation: self.generation,
            channel: self.peer.channel(),
            wait,
            limit: times.limit,
        }
    }
}
