//! Reads of views that a task waits for before its input is frozen (docs/runs.md#what-a-run-sees).
//!
//! A trigger comes with the data of its own view. The other views may have answered before the change that triggered
//! the task was written. Therefore the input waits for a read of each other view that began after the trigger had come.
//! Views whose changes run the task are not waited for: each brings its own trigger.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use cts_core::ViewId;

use super::watched_view::WatchedView;

/// The longest wait for reads.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A trigger, as it matters for reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'a> {
    /// A view of this datacenter has changed.
    Datacenter(&'a str),
    /// The schedule has ticked.
    Tick,
    /// The first complete input of the task under its leader.
    Beginning,
}

/// Why an input was frozen before a view was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnreadReason {
    /// The read took too long. The input is compared once the read has arrived.
    Late,
    /// Consul does not answer for the view.
    Failing,
    /// The view and the trigger belong to different datacenters.
    OtherDatacenter,
    /// The watcher of the view does not read on request.
    NotOnRequest,
}

/// A view that was not read between a trigger and the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadView {
    pub(crate) view: ViewId,
    pub(crate) reason: UnreadReason,
}

impl fmt::Display for UnreadView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let view = &self.view;
        match self.reason {
            UnreadReason::Late => write!(
                f,
                "{view} was not read within {}s of the trigger, and is compared when it is",
                LONGEST_WAIT.as_secs()
            ),
            UnreadReason::Failing => write!(
                f,
                "{view} was not read after the trigger: Consul does not answer for it"
            ),
            UnreadReason::OtherDatacenter => write!(
                f,
                "{view} was not read after the trigger: it names another datacenter than the view that changed"
            ),
            UnreadReason::NotOnRequest => write!(
                f,
                "{view} was not read after the trigger: its watcher is out of reach"
            ),
        }
    }
}

/// The reads that the triggers of one task need.
#[derive(Debug, Default)]
pub(super) struct AwaitedReads {
    /// Datacenters of the triggers since the last input.
    datacenters: Vec<String>,
    ticked: bool,
    /// The next input is the first one.
    begins: bool,
    /// A trigger has come since reads were requested last.
    is_new: bool,
    /// When reads were first requested since the task was due.
    since: Duration,
    /// Views whose read has not come, each with the mark of its request.
    awaited: BTreeMap<ViewId, u64>,
    /// Views that are not waited for.
    left_out: BTreeMap<ViewId, UnreadReason>,
    /// Views whose read had not come when the last input was frozen.
    owed: BTreeMap<ViewId, Owed>,
}

/// A read after which the last input is compared.
#[derive(Debug, Clone, Copy)]
struct Owed {
    mark: u64,
    /// Version of the view's content in the input.
    version: u64,
}

impl AwaitedReads {
    /// A trigger has come.
    pub(super) fn triggered(&mut self, origin: Origin<'_>) {
        match origin {
            Origin::Datacenter(name) => {
                if !self.datacenters.iter().any(|known| known == name) {
                    self.datacenters.push(name.to_owned());
                }
            }
            Origin::Tick => self.ticked = true,
            Origin::Beginning => {
                self.begins = true;
                return;
            }
        }
        self.is_new = true;
    }

    /// Whether reads are to be requested before the input is frozen.
    pub(super) fn needs_request(&self) -> bool {
        self.is_new
    }

    /// Whether only ticks need the reads; many ticks come at the same moment.
    pub(super) fn only_tick(&self) -> bool {
        self.ticked && self.datacenters.is_empty()
    }

    /// Requests reads of these views, which trigger nothing, with this mark. The task is due since `due_at`. Returns the
    /// views that are to be read.
    pub(super) fn request<'a>(
        &mut self,
        views: impl Iterator<Item = (&'a ViewId, &'a WatchedView)>,
        (due_at, now): (Duration, Duration),
        mark: u64,
    ) -> Vec<ViewId> {
        self.is_new = false;
        // A further trigger does not extend the wait, but if a buffer has ended since, a new wait begins.
        if self.since < due_at || (self.awaited.is_empty() && self.left_out.is_empty()) {
            self.since = now;
        }
        self.awaited.clear();
        self.left_out.clear();
        for (id, view) in views {
            match self.left_out_for(view) {
                Some(reason) => drop(self.left_out.insert(id.clone(), reason)),
                None => drop(self.awaited.insert(id.clone(), mark)),
            }
        }
        self.awaited.keys().cloned().collect()
    }

    fn left_out_for(&self, view: &WatchedView) -> Option<UnreadReason> {
        let datacenter = view.source.datacenter();
        let is_near = self.ticked || self.datacenters.iter().any(|known| known == datacenter);
        if !is_near {
            Some(UnreadReason::OtherDatacenter)
        } else if view.problem.is_some() {
            Some(UnreadReason::Failing)
        } else {
            None
        }
    }

    /// Time until which the input waits for reads; `None` if it does not wait.
    pub(super) fn waits_until(&self) -> Option<Duration> {
        let waits = !self.is_new && !self.awaited.is_empty();
        waits.then(|| self.since.saturating_add(LONGEST_WAIT))
    }

    /// Notes that a view was read for the request with this mark, and shows this content. Returns whether the last
    /// input was frozen without waiting for the read, and has different content of the view.
    pub(super) fn arrived(&mut self, view: &ViewId, mark: u64, version: u64) -> bool {
        if self.awaited.get(view).is_some_and(|asked| *asked <= mark) {
            self.awaited.remove(view);
            // The next frozen input has this content.
            self.owed.remove(view);
            return false;
        }
        match self.owed.get(view) {
            Some(owed) if owed.mark <= mark => {
                let differs = owed.version != version;
                self.owed.remove(view);
                differs
            }
            _ => false,
        }
    }

    /// The input does not wait for this view any more.
    pub(super) fn leave_out(&mut self, view: &ViewId, reason: UnreadReason) {
        if self.awaited.remove(view).is_some() {
            self.left_out.insert(view.clone(), reason);
        }
        if reason == UnreadReason::NotOnRequest {
            self.owed.remove(view);
        }
    }

    /// The read of this view may have been lost on its way: the next read with this mark counts. Returns whether it is
    /// still needed.
    pub(super) fn request_owed_again(&mut self, view: &ViewId, mark: u64) -> bool {
        let owed = self.owed.get_mut(view);
        owed.map(|owed| owed.mark = mark).is_some()
    }

    /// The input is frozen from views with these contents. Returns the views that were not read since its triggers.
    pub(super) fn frozen(&mut self, version: impl Fn(&ViewId) -> u64) -> Vec<UnreadView> {
        let late = std::mem::take(&mut self.awaited).into_iter();
        let late = late.map(|(view, mark)| {
            let version = version(&view);
            self.owed.insert(view.clone(), Owed { mark, version });
            (view, UnreadReason::Late)
        });
        let late: Vec<_> = late.collect();
        let left_out = std::mem::take(&mut self.left_out).into_iter();
        let unread = late.into_iter().chain(left_out);
        let unread = unread.map(|(view, reason)| UnreadView { view, reason });
        self.datacenters.clear();
        self.ticked = false;
        unread.collect()
    }

    /// Returns whether the input that is frozen now is the first one, and resets that.
    pub(super) fn take_beginning(&mut self) -> bool {
        std::mem::take(&mut self.begins)
    }

    /// The first input of the task has this content of a view, whose snapshot may be older than the triggers of earlier
    /// leaders.
    pub(super) fn owe(&mut self, view: &ViewId, mark: u64, version: u64) {
        self.owed.insert(view.clone(), Owed { mark, version });
    }

    /// The task uses only these views.
    pub(super) fn retain(&mut self, is_used: impl Fn(&ViewId) -> bool) {
        self.awaited.retain(|view, _mark| is_used(view));
        self.left_out.retain(|view, _reason| is_used(view));
        self.owed.retain(|view, _owed| is_used(view));
    }
}
