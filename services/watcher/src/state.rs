//! The state of a view, which its subscribers are sent.
//!
//! While Consul is away the snapshot stays. Subscribers get a report with the problem, its start and the time of the
//! next try, which explanations of the tasks contain.

use std::collections::BTreeMap;
use std::sync::Arc;

use cts_core::{Item, ItemKey, TraceContext, ViewId, ViewSnapshot};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::change_traces::ChangeTraces;
use crate::revisions::Revisions;

/// The state of a view at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct ViewState {
    /// Absent until Consul has answered for the first time.
    pub(crate) snapshot: Option<Arc<ViewSnapshot>>,
    /// Present while queries to Consul fail.
    pub(crate) failure: Option<Arc<Failure>>,
    /// When Consul answered last. Its change alone wakes no subscriber.
    pub(crate) answered: Option<Instant>,
    /// The span of the change that led to the snapshot; `None` for the first snapshot, and without tracing.
    pub(crate) trace: Option<TraceContext>,
    /// Number of the newest requested read that the state stands for.
    pub(crate) read: u64,
}

/// Why the last query to Consul failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The failure in one line of bounded length.
    pub(crate) message: String,
    /// Consul has refused to answer.
    pub(crate) refused: bool,
    /// All queries to Consul fail for this reason.
    pub(crate) outage: bool,
    /// Failures in a row.
    pub(crate) failures: u32,
    /// The first of them.
    pub(crate) since: Instant,
    /// Time of the next query to Consul.
    pub(crate) next_try: Instant,
}

/// Changes the state of a view, which is over when this is dropped.
#[derive(Debug)]
pub(crate) struct StateSender {
    state: watch::Sender<ViewState>,
    revisions: Arc<Revisions>,
    view: ViewId,
    traces: ChangeTraces,
}

impl StateSender {
    /// A view without data, and its state.
    pub(crate) fn new(
        view: ViewId,
        revisions: Arc<Revisions>,
        traces: ChangeTraces,
    ) -> (Self, watch::Receiver<ViewState>) {
        let (state, receiver) = watch::channel(ViewState::default());
        let sender = Self {
            state,
            revisions,
            view,
            traces,
        };
        (sender, receiver)
    }

    pub(crate) fn now(&self) -> ViewState {
        self.state.borrow().clone()
    }

    /// Publishes the items of the view. Returns whether they differ from the ones before.
    pub(crate) fn shows(
        &self,
        items: Option<BTreeMap<ItemKey, Item>>,
        failure: Option<Arc<Failure>>,
        answered: Option<Instant>,
    ) -> bool {
        let mut is_other = false;
        self.state.send_if_modified(|state| {
            let known = state.snapshot.as_ref().map(|known| &known.items);
            if let Some(items) = items.filter(|items| known != Some(items)) {
                let revision = self.revisions.next();
                state.trace =
                    known.and_then(|_known| self.traces.changed(&self.view, items.len(), answered));
                state.snapshot = Some(Arc::new(ViewSnapshot { revision, items }));
                is_other = true;
            }
            let failed = std::mem::replace(&mut state.failure, failure).is_some();
            state.answered = answered;
            is_other || failed || state.failure.is_some()
        });
        is_other
    }

    /// The state stands for the requested reads up to this number.
    pub(crate) fn read(&self, number: u64) {
        self.state.send_if_modified(|state| {
            let is_newer = number > state.read;
            state.read = state.read.max(number);
            is_newer
        });
    }

    /// A query to Consul failed; the snapshot of the view stays in force.
    pub(crate) fn failed(&self, failure: Failure) {
        self.state
            .send_modify(|state| state.failure = Some(Arc::new(failure)));
    }
}
