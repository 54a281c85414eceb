//! All views that are followed.
//!
//! A [`FollowedView`] is held by its subscribers and known here only weakly: when the last of them
//! drops it, its poller is cancelled and its entry goes. A subscriber that comes at that very moment
//! finds the weak entry dead and starts a new poller; the old one's end then leaves the new entry alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cts_consul::{ConsulClient, poll_service};
use cts_core::{ServiceView, ViewId};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::options::Options;
use crate::revisions::Revisions;
use crate::view::{Publisher, ViewState};

/// The views of one watcher.
#[derive(Debug, Clone)]
pub(crate) struct Views(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    client: ConsulClient,
    pollers: TaskTracker,
    stop: CancellationToken,
    revisions: Arc<Revisions>,
    views_before_warning: usize,
    followed: Mutex<HashMap<ServiceView, Weak<FollowedView>>>,
}

/// A view with its poller, which lives as long as this.
#[derive(Debug)]
pub(crate) struct FollowedView {
    pub(crate) id: ViewId,
    view: ServiceView,
    state: watch::Receiver<ViewState>,
    owner: Weak<Shared>,
    _poller: DropGuard,
}

impl Views {
    pub(crate) fn new(options: &Options, client: ConsulClient) -> Self {
        Self(Arc::new(Shared {
            client,
            pollers: TaskTracker::new(),
            stop: CancellationToken::new(),
            revisions: Arc::default(),
            views_before_warning: options.views_before_warning,
            followed: Mutex::default(),
        }))
    }

    /// The view, with a new poller unless it is followed already.
    pub(crate) fn follow(&self, view: &ServiceView) -> Arc<FollowedView> {
        let mut followed = self.0.lock();
        if let Some(known) = followed.get(view).and_then(Weak::upgrade) {
            return known;
        }
        let started = Arc::new(self.start(view));
        followed.insert(view.clone(), Arc::downgrade(&started));
        let count = followed.len();
        drop(followed);
        if count > self.0.views_before_warning {
            tracing::warn!(views = count, "many views are a load on consul");
        }
        started
    }

    fn start(&self, view: &ServiceView) -> FollowedView {
        let (sender, state) = watch::channel(ViewState::default());
        let mut publisher = Publisher::new(view.id(), sender, Arc::clone(&self.0.revisions));
        let ended = self.0.stop.child_token();
        let poller = {
            let (client, view, ended) = (self.0.client.clone(), view.clone(), ended.clone());
            async move {
                tracing::info!(view.id = %publisher.id(), "following a view");
                let poll = poll_service(&client, &view, |event| {
                    publisher.publish(event, Instant::now());
                });
                let _cancelled = ended.run_until_cancelled(poll).await;
                tracing::info!(view.id = %publisher.id(), "no longer following a view");
            }
        };
        self.0.pollers.spawn(poller);
        FollowedView {
            id: view.id(),
            view: view.clone(),
            state,
            owner: Arc::downgrade(&self.0),
            _poller: ended.drop_guard(),
        }
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
    fn lock(&self) -> MutexGuard<'_, HashMap<ServiceView, Weak<FollowedView>>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FollowedView {
    /// The state, marked as not seen yet.
    pub(crate) fn state(&self) -> watch::Receiver<ViewState> {
        let mut state = self.state.clone();
        state.mark_changed();
        state
    }
}

impl Drop for FollowedView {
    fn drop(&mut self) {
        let Some(owner) = self.owner.upgrade() else {
            return;
        };
        let mut followed = owner.lock();
        if followed
            .get(&self.view)
            .is_some_and(|entry| entry.strong_count() == 0)
        {
            followed.remove(&self.view);
        }
    }
}
