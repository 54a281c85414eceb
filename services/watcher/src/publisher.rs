//! Changes of a view's state by the answers to its poller.

mod default_ports;
mod unreadable;
mod unreadable_keys;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use cts_consul::{ConsulError, PollEvent, UnreadableInstance};
use cts_core::{Item, ItemKey, ItemKind, ViewId, ViewSnapshot, excerpt};
use tokio::time::Instant;

use self::default_ports::DefaultPorts;
use self::unreadable::Unreadable;
use self::unreadable_keys::UnreadableKeys;
use crate::outage::{ConsulOutage, LONG};
use crate::state::{Failure, StateSender, ViewState};

/// Characters of a failure's message that are kept.
const MESSAGE_SHOWN: usize = 400;

/// Stores the answers to the poller of a view. Data that a module cannot see are no change.
#[derive(Debug)]
pub(crate) struct Publisher {
    id: ViewId,
    state: StateSender,
    unreadable: Unreadable,
    unreadable_keys: UnreadableKeys,
    default_ports: DefaultPorts,
    /// The HTTP statuses of the present row of failures, `None` for failures without a status. Outages are not among
    /// them.
    warned: BTreeSet<Option<u16>>,
    outage: Arc<ConsulOutage>,
    /// The present row of failures is a part of a long outage.
    in_outage: bool,
    /// Whether a warning was logged and the rights are still missing.
    lost_rights: bool,
    /// Items that vanish when Consul begins to filter stay in the view.
    hold_filtered: bool,
    /// Consul had filtered the answer that is shown.
    shows_filtered: bool,
    /// The warning if the first answer is empty.
    if_empty: Option<&'static str>,
}

/// Consul filters its lists by the rights of the token, without a notice.
const NO_INSTANCE: &str = "consul shows no instance: there is none, none passes its checks, or the token lacks service:read or node:read for them";
const NO_SERVICE: &str =
    "consul shows no service at all: the token may lack service:read or node:read for them";

impl Publisher {
    pub(crate) fn new(id: ViewId, state: StateSender, outage: Arc<ConsulOutage>) -> Self {
        Self {
            id,
            state,
            unreadable: Unreadable::default(),
            unreadable_keys: UnreadableKeys::default(),
            default_ports: DefaultPorts::default(),
            warned: BTreeSet::new(),
            outage,
            in_outage: false,
            lost_rights: false,
            hold_filtered: false,
            shows_filtered: false,
            if_empty: None,
        }
    }

    /// Returns a publisher that keeps items that vanish when Consul begins to filter, if `hold` is set.
    pub(crate) fn holding_filtered(mut self, hold: bool) -> Self {
        self.hold_filtered = hold;
        self
    }

    /// Returns a publisher that warns if the first answer has no items of this kind.
    pub(crate) fn expecting(mut self, kind: ItemKind) -> Self {
        self.if_empty = match kind {
            ItemKind::Instances => Some(NO_INSTANCE),
            ItemKind::Services => Some(NO_SERVICE),
            ItemKind::Keys => None,
        };
        self
    }

    /// Applies an event of the poller at the moment `now`.
    pub(crate) fn publish(&mut self, event: PollEvent, now: Instant) {
        match event {
            PollEvent::Snapshot {
                index,
                filtered,
                items,
                unreadable,
            } => {
                let gone = self.observed((index, filtered), items, &unreadable, now);
                self.outage.ends_for(&self.id);
                self.note_filtered(filtered, gone);
            }
            PollEvent::Read { number } => self.state.read(number),
            PollEvent::Failure {
                error,
                failures,
                failing_for,
                retry_after,
            } => self.failed(&error, failures, (failing_for, retry_after), now),
        }
    }

    /// Tokens with few rights filter every list, so it means something only when data vanish.
    fn note_filtered(&mut self, filtered: bool, gone: usize) {
        if filtered && gone > 0 && !std::mem::replace(&mut self.lost_rights, true) {
            tracing::warn!(
                view.id = %self.id,
                gone,
                "consul shows less than before, and says that the token may not read everything: it may have lost rights"
            );
        }
        self.lost_rights &= filtered;
    }

    /// Keeps the items of the view, and publishes the reason.
    fn withhold(&mut self, gone: usize, now: Instant) {
        let before = self.state.now().failure;
        self.state.failed(Failure {
            message: format!(
                "consul says that the token may not read everything, and {gone} of what it showed before are gone: they are \
                 kept until it shows them, or all that there is"
            ),
            refused: false,
            outage: false,
            failures: before.as_ref().map_or(1, |before| before.failures + 1),
            since: before.map_or(now, |before| before.since),
            next_try: now,
        });
    }

    /// Publishes the items. An instance that cannot be understood stays in the view in its last readable form.
    /// Returns the number of items that are gone.
    fn observed(
        &mut self,
        (index, filtered): (u64, bool),
        items: Vec<Item>,
        unreadable: &[UnreadableInstance],
        now: Instant,
    ) -> usize {
        let ViewState {
            snapshot, failure, ..
        } = self.state.now();
        let mut items = sharing(snapshot.as_deref(), items);
        let kept = kept(snapshot.as_deref(), unreadable, &mut items);
        let is_empty_from_the_start = snapshot.is_none() && items.is_empty();
        let known = snapshot.iter().flat_map(|known| known.items.keys());
        let gone = known.filter(|key| !items.contains_key(key)).count();
        if self.hold_filtered && filtered && !self.shows_filtered && gone > 0 {
            self.withhold(gone, now);
            return gone;
        }
        self.shows_filtered = filtered;
        let count = items.len();
        let changed = self.state.shows(Some(items), None, Some(now));
        // Logged after sending: a log line must not delay a change.
        self.unreadable.note(&self.id, unreadable, kept);
        if let Some(snapshot) = self.state.now().snapshot.filter(|_| changed) {
            self.unreadable_keys.note(&self.id, &snapshot);
            self.default_ports.note(&self.id, &snapshot);
        }
        let had_own_line = !std::mem::take(&mut self.warned).is_empty();
        self.in_outage = false;
        self.outage.end_long();
        if let Some(warning) = self.if_empty.filter(|_| is_empty_from_the_start) {
            tracing::warn!(view.id = %self.id, "{warning}");
        }
        if let Some(failure) = failure {
            let failures = failure.failures;
            let after = now.saturating_duration_since(failure.since);
            if had_own_line {
                tracing::info!(view.id = %self.id, failures, ?after, "consul answers again");
            } else {
                tracing::debug!(view.id = %self.id, failures, ?after, "consul answers again");
            }
        }
        tracing::debug!(view.id = %self.id, consul.index = index, items = count, changed, "consul answered");
        gone
    }

    fn failed(
        &mut self,
        error: &ConsulError,
        failures: u32,
        (failing_for, retry_after): (Duration, Duration),
        now: Instant,
    ) {
        let message = excerpt(&error.report(), MESSAGE_SHOWN);
        let status = match error {
            ConsulError::Status { status, .. } => Some(*status),
            _ => None,
        };
        if error.is_outage() {
            // All views share the log line about the outage.
            let reason = excerpt(&error.plain_reason(), MESSAGE_SHOWN);
            self.outage.fails(&self.id, reason, failing_for);
            tracing::debug!(view.id = %self.id, error = message, failures, ?retry_after, "consul cannot be asked");
        } else {
            self.outage.ends_for(&self.id);
            // Only the first failure of each kind is logged as a warning.
            if self.warned.insert(status) {
                tracing::warn!(view.id = %self.id, error = message, failures, ?retry_after, "consul cannot be asked");
            }
        }
        let since = self.state.now().failure.map(|before| before.since);
        let since = since.or(now.checked_sub(failing_for)).unwrap_or(now);
        let after = now.saturating_duration_since(since);
        if error.is_outage() && after >= LONG && !self.in_outage {
            self.in_outage = true;
            if self.outage.begin_long() {
                tracing::error!(
                    target: "hcat",
                    error = message,
                    view.id = %self.id,
                    ?after,
                    "error connecting with Consul even after retries"
                );
            }
        }
        self.state.failed(Failure {
            message,
            refused: error.is_refusal(),
            outage: error.is_outage(),
            failures,
            since,
            next_try: now + retry_after,
        });
    }
}

impl Drop for Publisher {
    /// A view that is no longer followed holds up no outage.
    fn drop(&mut self) {
        self.outage.ends_for(&self.id);
    }
}

/// The items in module order; unchanged items are shared with `known`.
fn sharing(known: Option<&ViewSnapshot>, items: Vec<Item>) -> BTreeMap<ItemKey, Item> {
    let items = items.into_iter().map(|item| {
        let key = item.key();
        let same = known
            .and_then(|known| known.items.get(&key))
            .filter(|known| **known == item)
            .cloned();
        (key, same.unwrap_or(item))
    });
    items.collect()
}

/// Adds the last known form of instances that are unreadable now; returns the number of added instances.
fn kept(
    known: Option<&ViewSnapshot>,
    unreadable: &[UnreadableInstance],
    items: &mut BTreeMap<ItemKey, Item>,
) -> usize {
    let mut kept = 0;
    for key in unreadable.iter().filter_map(|odd| odd.key.as_ref()) {
        let key = ItemKey::Instance(key.clone());
        let last = known.and_then(|known| known.items.get(&key));
        if let Some(last) = last
            && !items.contains_key(&key)
        {
            items.insert(key, last.clone());
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests;
