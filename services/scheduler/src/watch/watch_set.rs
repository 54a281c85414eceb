//! Follows many views at many watchers: each view is followed at one healthy watcher, and moves when that watcher is
//! lost.
//!
//! Rendezvous hashing decides which watcher has which view, so that the loss of a watcher moves only its own views
//! (ARCHITECTURE.md#6-one-process-or-four). A moved view begins with a full snapshot, which is compared with the known
//! snapshot. So no change is lost between two watchers, and the move triggers no run.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use cts_core::{View, ViewDelta, ViewId};
use cts_rpc::Peer;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::event::{WatchError, WatchEvent};
use super::read_request::ReadRequest;
use super::watch_stream::{Command, StreamEvent, WatchStream};
use crate::moment::at;

/// Time for which views avoid a watcher whose stream has broken, unless it is the only watcher.
const DISTRUST: Duration = Duration::from_secs(2);

/// Time for which an unhealthy watcher keeps its views while its stream is unbroken: a busy watcher answers its health
/// check late, and the watchers that took over its views would then be busier. The stream of a stalled watcher breaks
/// within 4 s.
const GRACE: Duration = Duration::from_secs(15);

/// Deltas that wait for the scheduler; a watcher waits when it is full.
const BACKLOG: usize = 256;

#[derive(Debug)]
pub(crate) struct WatchSet {
    peers: watch::Receiver<Arc<[Peer]>>,
    views: Vec<View>,
    owners: HashMap<ViewId, String>,
    /// Views for which no event counts before a full snapshot: revisions of two watchers, or of two subscriptions at
    /// one watcher, are unrelated.
    from_the_beginning: HashSet<ViewId>,
    streams: HashMap<String, mpsc::UnboundedSender<Command>>,
    distrusted: HashMap<String, Instant>,
    /// Watchers that are not healthy any more and keep their views until then.
    late: HashMap<String, Instant>,
    events_rx: mpsc::Receiver<(String, StreamEvent)>,
    events_tx: mpsc::Sender<(String, StreamEvent)>,
    tasks: JoinSet<()>,
    /// Events that come from no stream.
    pending: VecDeque<WatchEvent>,
}

impl WatchSet {
    /// Follows `views` at these healthy watchers.
    pub(crate) fn new(peers: watch::Receiver<Arc<[Peer]>>, views: Vec<View>) -> Self {
        let (events_tx, events_rx) = mpsc::channel(BACKLOG);
        let mut watches = Self {
            peers,
            views,
            owners: HashMap::new(),
            from_the_beginning: HashSet::new(),
            streams: HashMap::new(),
            distrusted: HashMap::new(),
            late: HashMap::new(),
            events_rx,
            events_tx,
            tasks: JoinSet::new(),
            pending: VecDeque::new(),
        };
        watches.assign();
        watches
    }

    /// Waits for the next event. Cancel safe.
    pub(crate) async fn next(&mut self) -> WatchEvent {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return event;
            }
            let next_change = self.distrusted.values().chain(self.late.values());
            let next_change = next_change.min().copied();
            tokio::select! {
                Some((watcher, event)) = self.events_rx.recv() => {
                    if let Some(event) = self.take(watcher, event) {
                        return event;
                    }
                }
                Ok(()) = self.peers.changed() => self.assign(),
                () = at(next_change) => {
                    let now = Instant::now();
                    self.distrusted.retain(|_, until| *until > now);
                    self.assign();
                }
            }
        }
    }

    /// Turns an event of one stream into an event of the set; `None` if the event is out of date.
    fn take(&mut self, watcher: String, event: StreamEvent) -> Option<WatchEvent> {
        match event {
            StreamEvent::Delta(view, delta) => self
                .counts(&watcher, &view, &delta)
                .then_some(WatchEvent::Delta(view, delta)),
            StreamEvent::Read(view, mark) => {
                let is_owner = self.owners.get(&view) == Some(&watcher);
                // Until the full snapshot of the view has arrived, a read proves nothing.
                let counts = is_owner && !self.from_the_beginning.contains(&view);
                counts.then_some(WatchEvent::Read(view, mark))
            }
            StreamEvent::Failure(view, error) => {
                let is_owner = self.owners.get(&view) == Some(&watcher);
                is_owner.then(|| WatchEvent::Failure(vec![view], error))
            }
            StreamEvent::Broken(error) => {
                let owned = self.owners.iter().filter(|(_, owner)| **owner == watcher);
                let views: Vec<ViewId> = owned.map(|(view, _)| view.clone()).collect();
                let text = format!("the watcher {watcher} cannot be followed: {error}");
                self.distrusted.insert(watcher, Instant::now() + DISTRUST);
                self.assign();
                (!views.is_empty()).then(|| WatchEvent::Failure(views, WatchError::new(text)))
            }
        }
    }

    /// Follows exactly these views from now on. Views that stay are not requested again.
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
            // The stream ends only when this sender goes.
            drop(stream.send(Command::Follow(share)));
        }
    }

    /// Whether a delta belongs to the view's present subscription. The previous watcher of the view may still send
    /// deltas.
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

    /// Requests a view from its beginning, because a delta did not fit.
    pub(crate) fn again(&mut self, view: &ViewId) {
        self.from_the_beginning.insert(view.clone());
        let stream = self.owners.get(view).and_then(|id| self.streams.get(id));
        let source = self.views.iter().find(|source| source.id() == *view);
        if let (Some(stream), Some(source)) = (stream, source) {
            // A stream that has ended is replaced by the next assignment.
            drop(stream.send(Command::Again(source.clone())));
        }
    }

    /// Asks the watchers for reads.
    pub(crate) fn read(&mut self, request: ReadRequest) {
        let mut shares: HashMap<&str, Vec<ViewId>> = HashMap::new();
        let mut unowned = Vec::new();
        for view in request.views {
            match self.owners.get(&view) {
                Some(owner) => shares.entry(owner).or_default().push(view),
                None => unowned.push(view),
            }
        }
        for (owner, views) in shares {
            let share = ReadRequest { views, ..request };
            match self.streams.get(owner) {
                // The end of the stream is a failure of its views.
                Some(stream) => drop(stream.send(Command::Read(share))),
                None => unowned.extend(share.views),
            }
        }
        if !unowned.is_empty() {
            self.pending.push_back(WatchEvent::NotReadable(unowned));
        }
    }

    /// Reports the views that were never assigned, because no watcher exists.
    fn note_unowned(&mut self) {
        let ids = self.views.iter().map(View::id);
        let unowned: Vec<ViewId> = ids.filter(|id| !self.owners.contains_key(id)).collect();
        if !unowned.is_empty() {
            let error = WatchError::new("no watcher can be reached");
            self.pending.push_back(WatchEvent::Failure(unowned, error));
        }
    }

    /// Notes which watchers are no longer healthy and have an unbroken stream.
    fn note_late(&mut self, peers: &[Peer]) {
        let now = Instant::now();
        let is_healthy = |id: &str| peers.iter().any(|peer| peer.id() == id);
        let may_be_late = |id: &str| !is_healthy(id) && !self.distrusted.contains_key(id);
        let mut late: HashMap<String, Instant> = HashMap::new();
        for id in self.streams.keys().filter(|id| may_be_late(id)) {
            let until = self.late.get(id).copied().unwrap_or(now + GRACE);
            if until > now {
                late.insert(id.clone(), until);
            }
        }
        self.late = late;
    }

    /// Gives every view to a watcher. While none is healthy everything stays as it is.
    fn assign(&mut self) {
        let peers = Arc::clone(&self.peers.borrow_and_update());
        if peers.is_empty() {
            self.note_unowned();
            return;
        }
        self.note_late(&peers);
        let healthy = peers.iter().map(Peer::id);
        let late = self.late.keys().map(String::as_str);
        let alive: HashSet<&str> = healthy.chain(late).collect();
        let trusted = alive.iter().copied();
        let trusted = trusted.filter(|id| !self.distrusted.contains_key(*id));
        let trusted: Vec<&str> = trusted.collect();
        let candidates = if trusted.is_empty() {
            peers.iter().map(Peer::id).collect()
        } else {
            trusted
        };
        let mut shares: HashMap<&str, Vec<View>> = HashMap::new();
        let before = std::mem::take(&mut self.owners);
        for view in &self.views {
            let id = view.id();
            let owner = candidates
                .iter()
                .copied()
                .max_by_key(|candidate| weight(candidate, &id));
            if let Some(owner) = owner {
                if before.get(&id).map(String::as_str) != Some(owner) {
                    self.from_the_beginning.insert(id.clone());
                }
                shares.entry(owner).or_default().push(view.clone());
                self.owners.insert(id, owner.to_owned());
            }
        }
        // Dropping its sender ends a stream.
        self.streams.retain(|id, _| alive.contains(id.as_str()));
        while self.tasks.try_join_next().is_some() {}
        for id in self.late.keys() {
            if let Some(stream) = self.streams.get(id) {
                let share = shares.remove(id.as_str()).unwrap_or_default();
                drop(stream.send(Command::Follow(share)));
            }
        }
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
            // The stream ends only when this sender goes.
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

#[cfg(test)]
mod tests;
