//! The loop that keeps a set of peers up to date.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Clock;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use tokio::sync::{Notify, watch};
use tonic::transport::Channel;

use crate::address::Address;
use crate::peers::balance::{EndpointUpdates, Member};
use crate::peers::condition::PeerCondition;
use crate::peers::peer::Peer;
use crate::peers::peer_log::{Others, PeerLog};
use crate::peers::probe::{Probe, Probed};
use crate::peers::probe_times::ProbeTimes;
use crate::peers::resolve::{Answers, KnownSockets, resolve_after};
use crate::peers::roster::{Entry, Health};
use crate::peers::warm_up::WarmUp;

use crate::tls::KeyChanges;

/// Looks up names and checks healths for a [`Peers`](crate::Peers).
#[must_use = "no peer is healthy unless the driver runs"]
pub struct PeersDriver {
    service: &'static str,
    times: ProbeTimes,
    addresses: Arc<[Address]>,
    keys: Option<KeyChanges>,
    published: Published,
    feed: EndpointUpdates,
    warm_up: WarmUp,
    entries: BTreeMap<SocketAddr, Entry>,
    probes: FuturesUnordered<BoxFuture<'static, Probed>>,
    known: KnownSockets,
    resolve_now: Arc<Notify>,
    generation: u64,
    log: PeerLog,
    clock: Arc<dyn Clock>,
}

/// Published knowledge of the driver, for the handles.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) healthy: watch::Sender<Arc<[Peer]>>,
    pub(super) conditions: watch::Sender<Arc<[PeerCondition]>>,
    pub(super) unfit: watch::Sender<Option<Peer>>,
}

enum DriverEvent {
    Over,
    Resolved(Answers),
    Probed(Probed),
    NewKeys,
    Fed,
    WarmedUp,
}

impl PeersDriver {
    pub(super) fn new(
        service: &'static str,
        addresses: Vec<Address>,
        keys: Option<KeyChanges>,
        published: Published,
        (balanced, feed): (Channel, EndpointUpdates),
        clock: Arc<dyn Clock>,
    ) -> Self {
        let addresses: Arc<[Address]> = addresses.into();
        Self {
            service,
            times: ProbeTimes::default(),
            log: PeerLog::new(service, &addresses, Arc::clone(&clock)),
            clock,
            known: KnownSockets::new(service, Arc::clone(&addresses)),
            addresses,
            keys,
            published,
            feed,
            warm_up: WarmUp::new(balanced),
            entries: BTreeMap::new(),
            probes: FuturesUnordered::new(),
            resolve_now: Arc::new(Notify::new()),
            generation: 0,
        }
    }

    /// Replaces the default times.
    pub fn with_times(mut self, times: ProbeTimes) -> Self {
        self.times = times;
        self
    }

    /// Keeps the peers up to date until `shutdown` is over. Every step has a time limit, so no peer
    /// and no name server can hold it up. When it ends or is dropped, the peers stay as they were.
    pub async fn run(mut self, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let mut resolving = pin!(self.resolve_after(Duration::ZERO));
        loop {
            let event = tokio::select! {
                () = &mut shutdown => DriverEvent::Over,
                answers = &mut resolving => DriverEvent::Resolved(answers),
                Some(probed) = self.probes.next() => DriverEvent::Probed(probed),
                () = changed(self.keys.as_mut()) => DriverEvent::NewKeys,
                () = self.feed.flush(), if self.feed.is_behind() => DriverEvent::Fed,
                () = self.warm_up.step() => DriverEvent::WarmedUp,
            };
            match event {
                DriverEvent::Over => return,
                DriverEvent::Resolved(answers) => {
                    self.known.learn(answers);
                    self.follow_addresses();
                    self.publish_conditions();
                    resolving.set(self.resolve_after(self.resolve_pause()));
                }
                DriverEvent::Probed(probed) => self.learn(&probed),
                DriverEvent::NewKeys => self.renew_all(),
                DriverEvent::Fed | DriverEvent::WarmedUp => {}
            }
        }
    }

    fn resolve_after(&self, pause: Duration) -> impl Future<Output = Answers> + use<> {
        resolve_after(
            pause,
            Arc::clone(&self.resolve_now),
            Arc::clone(&self.addresses),
        )
    }

    fn resolve_pause(&self) -> Duration {
        let normal = self.times.resolve_every;
        if self.entries.values().any(Entry::is_healthy) {
            normal
        } else {
            normal / 4
        }
    }

    fn follow_addresses(&mut self) {
        let mut sockets = BTreeMap::new();
        for (socket, address) in self.known.sockets() {
            sockets.entry(socket).or_insert(address);
        }
        let service = self.service;
        let gone: Vec<_> = self
            .entries
            .extract_if(.., |socket, _| !sockets.contains_key(socket))
            .collect();
        for (socket, entry) in &gone {
            tracing::info!(service, peer = %socket, "the peer is no longer among the addresses of its name");
            if entry.is_healthy() {
                self.feed.remove(*socket);
            }
        }
        // The change is not marked as seen: the other peers are yet to be renewed with the new keys.
        let keys = self.keys.as_ref().map(KeyChanges::current);
        for (socket, address) in sockets {
            if self.entries.contains_key(&socket) {
                continue;
            }
            self.generation += 1;
            let entry = Entry::new(socket, address, keys.as_ref(), self.generation);
            self.probes
                .push(Box::pin(entry.first_probe(&self.times).run()));
            self.entries.insert(socket, entry);
        }
        if gone.iter().any(|(_, entry)| entry.is_healthy()) {
            self.publish();
        }
    }

    fn learn(&mut self, probed: &Probed) {
        let Some(entry) = self
            .entries
            .get_mut(&probed.socket)
            .filter(|entry| entry.generation == probed.generation)
        else {
            return;
        };
        let before = entry.health();
        let was_healthy = entry.is_healthy();
        let next = entry.learn(&probed.verdict, &self.times, self.clock.now());
        let is_healthy = entry.is_healthy();
        let address = entry.address().clone();
        if is_healthy {
            let member = Member {
                generation: entry.generation,
                endpoint: entry.endpoint.clone(),
            };
            self.feed.insert(probed.socket, member);
        } else {
            self.feed.remove(probed.socket);
        }
        if is_healthy && (!was_healthy || probed.was_lost) {
            self.warm_up.begin();
        } else if was_healthy && !is_healthy {
            // The channel gives a lost peer up with its next call: calls in progress would no longer notice its end.
            self.warm_up.end();
        }
        self.ask(next);
        self.publish_conditions();
        if was_healthy != is_healthy {
            self.publish();
        }
        let others = self.others(probed.socket);
        let peer = (probed.socket, &address);
        self.log.note(peer, before, &probed.verdict, others);
    }

    /// The peers apart from this one.
    fn others(&self, socket: SocketAddr) -> Others {
        let others = self.entries.iter().filter(|(other, _)| **other != socket);
        others.fold(Others::default(), |mut others, (_, entry)| {
            match entry.health() {
                Health::Healthy => others.healthy += 1,
                Health::Unknown => others.unknown += 1,
                Health::Unhealthy => {}
            }
            others
        })
    }

    fn renew_all(&mut self) {
        let keys = self.keys.as_mut().map(KeyChanges::take);
        for entry in self.entries.values_mut() {
            self.generation += 1;
            entry.renew(keys.as_ref(), self.generation);
            self.probes
                .push(Box::pin(entry.first_probe(&self.times).run()));
        }
        self.publish();
        self.warm_up.begin();
    }

    fn publish_conditions(&self) {
        let unresolved = self.known.unresolved().map(|address| PeerCondition {
            address: address.to_string(),
            socket: String::new(),
            healthy: false,
            since: None,
            reason: "its name cannot be looked up".to_owned(),
        });
        let known = self.entries.values().map(Entry::condition);
        let conditions: Arc<[PeerCondition]> = known.chain(unresolved).collect();
        self.published.conditions.send_replace(conditions);
        let mut entries = self.entries.values();
        let unfit = entries.find(|entry| entry.is_unfit());
        let unfit = unfit.filter(|_| !self.entries.values().any(Entry::is_healthy));
        let unfit = unfit.map(|entry| entry.peer.clone());
        self.published.unfit.send_replace(unfit);
    }

    fn ask(&self, probe: Probe) {
        self.probes.push(Box::pin(probe.run()));
    }

    /// Publishes the new set; to the balancing channel first, so that a caller that sees the set finds the channel so.
    fn publish(&mut self) {
        // Changes that find no room at once are sent in the loop.
        let _caught_up = self.feed.flush().now_or_never();
        let healthy: Arc<[Peer]> = self
            .entries
            .values()
            .filter(|entry| entry.is_healthy())
            .map(|entry| entry.peer.clone())
            .collect();
        if healthy.is_empty() {
            self.resolve_now.notify_one();
        }
        self.published.healthy.send_replace(healthy);
    }
}

async fn changed(keys: Option<&mut KeyChanges>) {
    let changed = match keys {
        Some(keys) => keys.changed().await,
        None => false,
    };
    if !changed {
        std::future::pending::<()>().await;
    }
}

impl fmt::Debug for PeersDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeersDriver")
            .field("service", &self.service)
            .field("addresses", &self.addresses)
            .finish_non_exhaustive()
    }
}
