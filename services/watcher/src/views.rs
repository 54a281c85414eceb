//! All followed views.
//!
//! A [`FollowedView`] is owned by its subscribers; this map has only weak references. Some time after its last
//! subscriber has dropped it, its poller is cancelled and its entry goes. So a subscriber that comes back soon finds
//! the view with its data. A subscriber that comes at that very moment finds the weak entry dead and starts a new
//! poller; the end of the old poller then leaves the new entry alone.

use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use cts_consul::{ConsulClient, QueryPool, ReadRequests};
use cts_core::{Clock, ServiceView, View, ViewId};
use opentelemetry::metrics::Meter;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::change_traces::ChangeTraces;
use crate::metrics::Metrics;
use crate::outage::ConsulOutage;
use crate::revisions::Revisions;
use crate::silence::Silence;
use crate::state::{StateSender, ViewState};
use crate::watch_options::WatchOptions;

/// The views of one watcher.
#[derive(Debug, Clone)]
pub(crate) struct Views(pub(crate) Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) client: ConsulClient,
    pub(crate) pool: QueryPool,
    pollers: TaskTracker,
    stop: CancellationToken,
    pub(crate) options: WatchOptions,
    revisions: Arc<Revisions>,
    pub(crate) outage: Arc<ConsulOutage>,
    pub(crate) silence: Silence,
    pub(crate) metrics: Metrics,
    pub(crate) traces: ChangeTraces,
    followed: Mutex<HashMap<Source, Weak<FollowedView>>>,
}

/// The subject of one poller, or of one combination of views.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// A view as a subscriber names it.
    View(View),
    /// The passing instances of one of the services of a [`View::Services`], whatever the filter is.
    Member(ServiceView),
}

impl Source {
    fn id(&self) -> ViewId {
        match self {
            Self::View(view) => view.id(),
            Self::Member(service) => service.id(),
        }
    }
}

/// A view with its poller, which lives as long as this.
#[derive(Debug)]
pub(crate) struct FollowedView {
    source: Source,
    state: watch::Receiver<ViewState>,
    requests: ReadRequests,
    owner: Weak<Shared>,
    _poller: DropGuard,
}

/// A view in the hands of a subscriber.
#[derive(Debug)]
pub(crate) struct SubscribedView {
    /// `None` in its end only.
    view: Option<Arc<FollowedView>>,
    views: Views,
}

impl Views {
    pub(crate) fn new(
        client: ConsulClient,
        options: WatchOptions,
        (meter, traces): (&Meter, ChangeTraces),
        clock: Arc<dyn Clock>,
    ) -> Self {
        let outage = Arc::new(ConsulOutage::new(client.address(), clock));
        let shared = Arc::new(Shared {
            pool: QueryPool::new(client.clone()),
            client,
            pollers: TaskTracker::new(),
            stop: CancellationToken::new(),
            options,
            revisions: Arc::default(),
            outage,
            silence: Silence::default(),
            metrics: Metrics::new(meter),
            traces,
            followed: Mutex::default(),
        });
        Self(shared)
    }

    /// The view, with a new poller unless it is followed already.
    pub(crate) fn follow(&self, source: Source) -> Arc<FollowedView> {
        let mut followed = self.0.lock();
        if let Some(known) = followed.get(&source).and_then(Weak::upgrade) {
            return known;
        }
        let started = Arc::new(self.start(source.clone()));
        followed.insert(source, Arc::downgrade(&started));
        started
    }

    fn start(&self, source: Source) -> FollowedView {
        let traces = match &source {
            Source::View(_) => self.0.traces.clone(),
            // The view of all services has the spans.
            Source::Member(_) => ChangeTraces::off(),
        };
        let (sender, state) = StateSender::new(source.id(), Arc::clone(&self.0.revisions), traces);
        let ended = self.0.stop.child_token();
        let requests = ReadRequests::default();
        let poller = {
            let (views, source, ended) = (self.clone(), source.clone(), ended.clone());
            let requests = requests.clone();
            async move {
                let id = source.id();
                tracing::debug!(view.id = %id, "following a view");
                // Boxed: `run_until_cancelled` holds a future twice, and each of thousands of views has such a future.
                let work = Box::pin(views.work(source, requests, sender));
                let _cancelled = ended.run_until_cancelled(work).await;
                tracing::debug!(view.id = %id, "no longer following a view");
            }
        };
        self.0.pollers.spawn(poller);
        FollowedView {
            source,
            state,
            requests,
            owner: Arc::downgrade(&self.0),
            _poller: ended.drop_guard(),
        }
    }

    pub(crate) fn subscribe(&self, view: View) -> SubscribedView {
        SubscribedView {
            view: Some(self.follow(Source::View(view))),
            views: self.clone(),
        }
    }

    /// Keeps a view that has lost its last subscriber for a while.
    fn linger(&self, view: Arc<FollowedView>) {
        let shared = Arc::clone(&self.0);
        self.0.pollers.spawn(async move {
            let _stopped = timeout(shared.options.linger, shared.stop.cancelled()).await;
            drop(view);
        });
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Over when the watcher stops.
    pub(crate) async fn stopped(&self) {
        self.0.stop.cancelled().await;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Stops all pollers, and with them all subscribers, and waits for the pollers.
    pub(crate) async fn stop(&self) {
        self.0.stop.cancel();
        self.0.pollers.close();
        self.0.pollers.wait().await;
    }
}

impl Shared {
    pub(crate) fn followed(&self) -> Vec<Arc<FollowedView>> {
        self.lock().values().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Source, Weak<FollowedView>>> {
        self.followed.lock()
    }
}

impl FollowedView {
    pub(crate) fn now(&self) -> ViewState {
        self.state.borrow().clone()
    }

    /// Requests a read that begins after this call, with `gather` after a while for further requests. Returns the
    /// number of the request, which [`ViewState::read`] reaches.
    pub(crate) fn request_read(&self, gather: bool) -> u64 {
        self.requests.request(gather)
    }

    /// The state, marked as not seen yet.
    pub(crate) fn state(&self) -> watch::Receiver<ViewState> {
        let mut state = self.state.clone();
        state.mark_changed();
        state
    }
}

impl SubscribedView {
    /// A subscriber gets a change that Consul answered at this moment.
    pub(crate) fn note_sent(&self, answered: Instant, now: Instant) {
        self.views.0.metrics.sent(answered, now);
    }

    /// Requests reads of the view.
    pub(crate) fn requests(&self) -> ReadRequests {
        let view = self.view.as_ref();
        view.map(|view| view.requests.clone()).unwrap_or_default()
    }

    /// The state, marked as not seen yet.
    pub(crate) fn state(&self) -> Option<watch::Receiver<ViewState>> {
        self.view.as_ref().map(|view| view.state())
    }
}

impl Drop for SubscribedView {
    fn drop(&mut self) {
        // If another subscriber leaves at this moment, neither is the last, and the view ends at once.
        if let Some(view) = self.view.take()
            && Arc::strong_count(&view) == 1
        {
            self.views.linger(view);
        }
    }
}

impl Drop for FollowedView {
    fn drop(&mut self) {
        let Some(owner) = self.owner.upgrade() else {
            return;
        };
        let mut followed = owner.lock();
        if followed
            .get(&self.source)
            .is_some_and(|entry| entry.strong_count() == 0)
        {
            followed.remove(&self.source);
        }
    }
}
