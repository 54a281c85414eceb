//! The state of one view, and how the poller's events change it.

mod unreadable;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use cts_consul::{ConsulError, PollEvent, UnreadableInstance};
use cts_core::{InstanceKey, ServiceInstance, ViewId, ViewSnapshot, excerpt};
use tokio::sync::watch;
use tokio::time::Instant;

use self::unreadable::Unreadable;
use crate::revisions::Revisions;

/// What is known of a view at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct ViewState {
    /// Absent until Consul has answered for the first time.
    pub(crate) snapshot: Option<Arc<ViewSnapshot>>,
    /// Present while Consul cannot be asked.
    pub(crate) failure: Option<Arc<Failure>>,
    /// When Consul answered last. Its change alone wakes no subscriber.
    pub(crate) answered: Option<Instant>,
}

/// Why Consul could not be asked last time.
#[derive(Debug)]
pub(crate) struct Failure {
    /// In one line of bounded length, whatever Consul has said.
    pub(crate) message: String,
    /// Failures in a row.
    pub(crate) failures: u32,
    /// The first of them.
    pub(crate) since: Instant,
    /// When Consul is asked again.
    pub(crate) next_try: Instant,
}

/// Characters of a failure's message that are kept.
const MESSAGE_SHOWN: usize = 400;

/// Stores what the poller of a view finds. What a module cannot see is no change.
#[derive(Debug)]
pub(crate) struct Publisher {
    id: ViewId,
    state: watch::Sender<ViewState>,
    revisions: Arc<Revisions>,
    unreadable: Unreadable,
    /// The HTTP statuses of the present row of failures, `None` for what is no answer.
    warned: BTreeSet<Option<u16>>,
}

impl Publisher {
    pub(crate) fn new(
        id: ViewId,
        state: watch::Sender<ViewState>,
        revisions: Arc<Revisions>,
    ) -> Self {
        Self {
            id,
            state,
            revisions,
            unreadable: Unreadable::default(),
            warned: BTreeSet::new(),
        }
    }

    pub(crate) const fn id(&self) -> &ViewId {
        &self.id
    }

    /// Takes up what the poller has found `now`.
    pub(crate) fn publish(&mut self, event: PollEvent, now: Instant) {
        match event {
            PollEvent::Snapshot {
                index,
                instances,
                unreadable,
            } => self.observed(index, instances, &unreadable, now),
            PollEvent::Failure {
                error,
                failures,
                retry_after,
            } => self.failed(&error, failures, retry_after, now),
        }
    }

    /// Of an instance that cannot be understood the last form that could be stays in the view.
    fn observed(
        &mut self,
        index: u64,
        instances: Vec<ServiceInstance>,
        unreadable: &[UnreadableInstance],
        now: Instant,
    ) {
        let ViewState {
            snapshot, failure, ..
        } = self.state.borrow().clone();
        let mut instances = sharing(snapshot.as_deref(), instances);
        let kept = kept(snapshot.as_deref(), unreadable, &mut instances);
        let is_empty_from_the_start = snapshot.is_none() && instances.is_empty();
        let unchanged = snapshot.is_some_and(|known| known.instances == instances);
        let count = instances.len();
        if unchanged {
            self.state.send_if_modified(|state| {
                state.answered = Some(now);
                state.failure.take().is_some()
            });
        } else {
            let snapshot = Arc::new(ViewSnapshot {
                revision: self.revisions.next(),
                instances,
            });
            self.state.send_replace(ViewState {
                snapshot: Some(snapshot),
                failure: None,
                answered: Some(now),
            });
        }
        // After the sending: a log line must not delay a change.
        self.unreadable.note(&self.id, unreadable, kept);
        self.warned.clear();
        if is_empty_from_the_start {
            // Consul filters its lists by what a token may read, and says nothing of it.
            tracing::warn!(
                view.id = %self.id,
                "consul shows no instance: there is none, none passes its checks, or the token lacks service:read or node:read for them"
            );
        }
        if let Some(failure) = failure {
            let failures = failure.failures;
            let after = now.saturating_duration_since(failure.since);
            tracing::info!(view.id = %self.id, failures, ?after, "consul answers again");
        }
        tracing::debug!(view.id = %self.id, consul.index = index, instances = count, changed = !unchanged, "consul answered");
    }

    fn failed(&mut self, error: &ConsulError, failures: u32, retry_after: Duration, now: Instant) {
        let message = excerpt(&error.report(), MESSAGE_SHOWN);
        let status = match error {
            ConsulError::Status { status, .. } => Some(*status),
            _ => None,
        };
        // Of a row of failures the first of its kind: an outage must not fill the log.
        if self.warned.insert(status) {
            tracing::warn!(view.id = %self.id, error = message, failures, ?retry_after, "consul cannot be asked");
        }
        self.state.send_modify(|state| {
            let since = state.failure.as_ref().map_or(now, |before| before.since);
            state.failure = Some(Arc::new(Failure {
                message,
                failures,
                since,
                next_try: now + retry_after,
            }));
        });
    }
}

/// The instances in module order; those that have not changed are shared with `known`.
fn sharing(
    known: Option<&ViewSnapshot>,
    instances: Vec<ServiceInstance>,
) -> BTreeMap<InstanceKey, Arc<ServiceInstance>> {
    instances
        .into_iter()
        .map(|instance| {
            let key = instance.key();
            let same = known
                .and_then(|known| known.instances.get(&key))
                .filter(|known| ***known == instance)
                .cloned();
            (key, same.unwrap_or_else(|| Arc::new(instance)))
        })
        .collect()
}

/// Adds what is known of instances that cannot be understood now; returns how many that are.
fn kept(
    known: Option<&ViewSnapshot>,
    unreadable: &[UnreadableInstance],
    instances: &mut BTreeMap<InstanceKey, Arc<ServiceInstance>>,
) -> usize {
    let mut kept = 0;
    for key in unreadable.iter().filter_map(|odd| odd.key.as_ref()) {
        let last = known.and_then(|known| known.instances.get(key));
        if let Some(last) = last
            && !instances.contains_key(key)
        {
            instances.insert(key.clone(), Arc::clone(last));
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests;
