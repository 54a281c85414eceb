//! Following many views at many watchers: every view is followed at one healthy watcher, and moves to
//! another when that one is lost.
//!
//! Which watcher has which view is decided by rendezvous hashing, so that the loss of one moves its views
//! only (ARCHITECTURE.md#6-one-process-or-four). A view that moves begins with a full snapshot, which is
//! compared with what is at
//! hand; so nothing is lost between two watchers, and nothing runs because of the move.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use cts_core::{View, ViewDelta, ViewId};
use cts_rpc::{Peer, Peers};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::event::{Trouble, WatchEvent};
use super::watch_stream::{Command, StreamEvent, WatchStream};

/// How long views stay away from a watcher whose stream has broken, unless there is no other.
const DISTRUST: Duration = Duration::from_secs(2);

/// Deltas that wait for the scheduler; a watcher waits when it is full.
const BACKLOG: usize = 256;

#[derive(Debug)]
pub(crate) struct WatchSet {
    peers: watch::Receiver<Arc<[Peer]>>,
    views: Vec<View>,
    owners: HashMap<ViewId, String>,
    /// Views of which nothing counts before a full snapshot: revisions of two watchers, or of two
    /// subscriptions at one, have nothing to do with each other.
    from_the_beginning: HashSet<ViewId>,
    streams: HashMap<String, mpsc::UnboundedSender<Command>>,
    distrusted: HashMap<String, Instant>,
    events_rx: mpsc::Receiver<(String, StreamEvent)>,
    events_tx: mpsc::Sender<(String, StreamEvent)>,
    tasks: JoinSet<()>,
    /// Events that come from no stream.
    pending: VecDeque<WatchEvent>,
}

impl WatchSet {
    /// Follows `views` at `watchers`.
    pub(crate) fn new(watchers: &Peers, views: Vec<View>) -> Self {
        let (events_tx, events_rx) = mpsc::channel(BACKLOG);
        let mut watches = Self {
            peers: watchers.healthy(),
            views,
            owners: HashMap::new(),
            from_the_beginning: HashSet::new(),
            streams: HashMap::new(),
            distrusted: HashMap::new(),
            events_rx,
            events_tx,
            tasks: JoinSet::new(),
            pending: VecDeque::new(),
        };
        watches.assign();
        watches
    }

    /// What becomes known next. Cancel safe.
    pub(crate) async fn next(&mut self) -> WatchEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let trusted_again = self.distrusted.values().min().copied();
            tokio::select! {
                Some((watcher, event)) = self.events_rx.recv() => {
                    if let Some(event) = self.take(watcher, event) {
                        return event;
                    }
                }
                Ok(()) = self.peers.changed() => self.assign(),
                () = at(trusted_again) => {
                    let now = Instant::now();
                    self.distrusted.retain(|_, until| *until > now);
                    self.assign();
                }
            }
        }
    }

    /// Turns an event of one stream into one of the set; `None` if it is out of date.
    fn take(&mut self, watcher: String, event: StreamEvent) -> Option<WatchEvent> {
        match event {
            StreamEvent::Delta(view, delta) => self
                .counts(&watcher, &view, &delta)
                .then_some(WatchEvent::Delta(view, delta)),
            StreamEvent::Failure(view, trouble) => {
                let is_owner = self.owners.get(&view) == Some(&watcher);
                is_owner.then(|| WatchEvent::Trouble(vec![view], trouble))
            }
            StreamEvent::Broken(error) => {
                let owned = self.owners.iter().filter(|(_, owner)| **owner == watcher);
                let views: Vec<ViewId> = owned.map(|(view, _)| view.clone()).collect();
                let text = format!("the watcher {watcher} cannot be followed: {error}");
                self.distrusted.insert(watcher, Instant::now() + DISTRUST);
                self.assign();
                (!views.is_empty()).then(|| WatchEvent::Trouble(views, Trouble::new(text)))
            }
        }
    }

    /// Follows these views from now on, and no others. Those that stay are not asked for anew.
    pub(crate) fn set_views(&mut self, views: Vec<View>) {
        let wanted: HashSet<ViewId> = views.iter().map(View::id).collect();
        // A view that comes back later must begin with a full snapshot.
        self.owners.retain(|id, _| wanted.contains(id));
        self.from_the_beginning.retain(|id| wanted.contains(id));
        self.views = views;
        if self.peers.borrow().is_empty() {
            self.give_up_views();
        } else {
            self.assign();
        }
    }

    /// Ends the subscriptions of views that have no owner any more, where nothing can be assigned.
    fn give_up_views(&mut self) {
        self.note_unowned();
        let mut shares: HashMap<&str, Vec<View>> = HashMap::new();
        for view in &self.views {
            if let Some(owner) = self.owners.get(&view.id()) {
                shares.entry(owner).or_default().push(view.clone());
            }
        }
        for (id, stream) in &self.streams {
            let share = shares.remove(id.as_str()).unwrap_or_default();
            // It ends only when this sender goes.
            drop(stream.send(Command::Follow(share)));
        }
    }

    /// Whether a delta is of the view's present subscription. A watcher that had the view before may
    /// still send deltas of it.
    fn counts(&mut self, watcher: &str, view: &ViewId, delta: &ViewDelta) -> bool {
        if self.owners.get(view).map(String::as_str) != Some(watcher) {
            return false;
        }
        if delta.base.is_none() {
            self.from_the_beginning.remove(view);
            return true;
        }
        !self.from_the_beginning.contains(view)
    }

    /// Asks for a view from its beginning, because a delta did not fit.
    pub(crate) fn again(&mut self, view: &ViewId) {
        self.from_the_beginning.insert(view.clone());
        let stream = self.owners.get(view).and_then(|id| self.streams.get(id));
        let source = self.views.iter().find(|source| source.id() == *view);
        if let (Some(stream), Some(source)) = (stream, source) {
            // One that has ended is replaced by the next assignment.
            drop(stream.send(Command::Again(source.clone())));
        }
    }

    /// Reports the views that were never assigned, because there is no watcher.
    fn note_unowned(&mut self) {
        let ids = self.views.iter().map(View::id);
        let unowned: Vec<ViewId> = ids.filter(|id| !self.owners.contains_key(id)).collect();
        if !unowned.is_empty() {
            let trouble = Trouble::new("no watcher can be reached");
            self.pending
                .push_back(WatchEvent::Trouble(unowned, trouble));
        }
    }

    /// Gives every view to a watcher. While none is healthy everything stays as it is.
    fn assign(&mut self) {
        let peers = Arc::clone(&self.peers.borrow_and_update());
        if peers.is_empty() {
            self.note_unowned();
            return;
        }
        let trusted: Vec<&Peer> = peers
            .iter()
            .filter(|peer| !self.distrusted.contains_key(peer.id()))
            .collect();
        let candidates = if trusted.is_empty() {
            peers.iter().collect()
        } else {
            trusted
        };
        let mut shares: HashMap<&str, Vec<View>> = HashMap::new();
        let before = std::mem::take(&mut self.owners);
        for view in &self.views {
            let id = view.id();
            let owner = candidates
                .iter()
                .max_by_key(|peer| weight(peer.id(), &id))
                .map(|peer| peer.id());
            if let Some(owner) = owner {
                if before.get(&id).map(String::as_str) != Some(owner) {
                    self.from_the_beginning.insert(id.clone());
                }
                shares.entry(owner).or_default().push(view.clone());
                self.owners.insert(id, owner.to_owned());
            }
        }
        let alive: HashSet<&str> = peers.iter().map(Peer::id).collect();
        // Dropping its sender ends a stream.
        self.streams.retain(|id, _| alive.contains(id.as_str()));
        while self.tasks.try_join_next().is_some() {}
        for peer in peers.iter() {
            let share = shares.remove(peer.id()).unwrap_or_default();
            if share.is_empty() && !self.streams.contains_key(peer.id()) {
                continue;
            }
            let stream = self.streams.entry(peer.id().to_owned()).or_insert_with(|| {
                let (commands, receiver) = mpsc::unbounded_channel();
                let stream = WatchStream::new(peer.clone(), receiver, self.events_tx.clone());
                self.tasks.spawn(stream.run());
                commands
            });
            // It ends only when this sender goes.
            drop(stream.send(Command::Follow(share)));
        }
    }
}

fn weight(peer: &str, view: &ViewId) -> u64 {
    let mut hasher = DefaultHasher::new();
    peer.hash(&mut hasher);
    view.as_str().hash(&mut hasher);
    hasher.finish()
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use cts_core::KvQuery;
    use cts_rpc::memory_transport;

    use super::*;

    fn delta(base: Option<u64>) -> ViewDelta {
        ViewDelta {
            base,
            revision: 7,
            upserts: Vec::new(),
            removals: Vec::new(),
        }
    }

    fn view(name: &str) -> View {
        View::ConsulKv(KvQuery {
            path: name.into(),
            ..KvQuery::default()
        })
    }

    #[tokio::test]
    async fn views_come_and_go_and_one_that_comes_back_begins_afresh() {
        let (_listener, channel) = memory_transport();
        let watchers = Peers::fixed(channel);
        let [web, api] = [view("web"), view("api")];
        let mut watches = WatchSet::new(&watchers, Vec::new());
        let owner = watchers.healthy().borrow()[0].id().to_owned();
        assert!(!watches.counts(&owner, &web.id(), &delta(None)));
        watches.set_views(vec![web.clone()]);
        assert!(watches.counts(&owner, &web.id(), &delta(None)));
        watches.set_views(vec![web.clone(), api.clone()]);
        assert!(
            watches.counts(&owner, &web.id(), &delta(Some(6))),
            "what stays goes on"
        );
        assert!(!watches.counts(&owner, &api.id(), &delta(Some(6))));
        watches.set_views(vec![api]);
        assert!(!watches.counts(&owner, &web.id(), &delta(Some(6))));
        watches.set_views(vec![web.clone()]);
        assert!(!watches.counts(&owner, &web.id(), &delta(Some(6))));
        assert!(watches.counts(&owner, &web.id(), &delta(None)));
    }

    #[tokio::test]
    async fn a_view_counts_from_its_full_snapshot_on_and_from_its_owner_only() {
        let (_listener, channel) = memory_transport();
        let watchers = Peers::fixed(channel);
        let web = view("web");
        let id = web.id();
        let mut watches = WatchSet::new(&watchers, vec![web]);
        let owner = watchers.healthy().borrow()[0].id().to_owned();
        // A revision of another watcher may have the same number by chance.
        assert!(!watches.counts(&owner, &id, &delta(Some(6))));
        assert!(!watches.counts("another", &id, &delta(None)));
        assert!(watches.counts(&owner, &id, &delta(None)));
        assert!(watches.counts(&owner, &id, &delta(Some(6))));
        watches.again(&id);
        assert!(!watches.counts(&owner, &id, &delta(Some(7))));
        assert!(watches.counts(&owner, &id, &delta(None)));
    }
}
