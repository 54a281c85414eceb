//! Requests for reads of views, and their answers.
//!
//! Indexes do not show whether the last answer of a view is older than the change that triggered a task: the index of
//! one service never reaches the index of another service. Therefore the input of a due task waits for reads of its
//! views; these reads trigger nothing (`awaited_reads`).
//!
//! * The request goes to the watcher of the view on the Watch stream, with a *mark*.
//! * The watcher reads the view in parallel with the query that Consul holds. The watcher sends the delta first and
//!   then the mark, in order on the same stream.
//! * A late read is *owed*: when the mark arrives, the content of the view is compared with the content in the frozen
//!   input, and the run has the names of such views in its cause (`runs.cause`).
//! * Owed reads are not handed to the next leader. Its first input of each task is compared with the last applied
//!   one, and owes a read of each of these views.

use std::sync::Arc;
use std::time::Duration;

use cts_core::ViewId;

use super::Planner;
use super::awaited_reads::UnreadReason;
use crate::watch::ReadRequest;

impl Planner {
    /// Returns the planner whose inputs wait for the reads that it requests.
    pub(crate) fn with_reads(mut self) -> Self {
        self.wanted_reads.enabled = true;
        self
    }

    /// Takes the requests for reads that have come up.
    pub(crate) fn take_reads(&mut self) -> Vec<ReadRequest> {
        let wanted = &mut self.wanted_reads;
        let at_once = std::mem::take(&mut wanted.at_once);
        let gathered = std::mem::take(&mut wanted.gathered);
        let gathered = gathered.difference(&at_once).cloned().collect();
        let shares = [
            (gathered, wanted.mark, true),
            (at_once.into_iter().collect(), wanted.mark + 1, false),
        ];
        let requests = shares
            .into_iter()
            .map(|(views, mark, gather): (Vec<_>, _, _)| ReadRequest {
                views,
                mark,
                gather,
            });
        requests
            .filter(|request| !request.views.is_empty())
            .collect()
    }

    /// A view was read for a request with this mark, or with a later mark.
    pub(crate) fn read(&mut self, id: &ViewId, mark: u64, now: Duration) {
        let Some(view) = self.views.get(id) else {
            return;
        };
        let mut line: Option<Arc<str>> = None;
        for name in view.tasks.keys() {
            let Some(entry) = self.tasks.get_mut(name) else {
                continue;
            };
            if entry.reads.arrived(id, mark, view.version) {
                let line = line.get_or_insert_with(|| {
                    Arc::from(format!("{id} was read after the input before was frozen"))
                });
                entry.compare(now, line);
            }
            self.agenda.note(name, entry);
        }
    }

    /// The watchers of these views do not read on request.
    pub(crate) fn not_readable(&mut self, views: &[ViewId]) {
        for id in views {
            self.leave_out(id, UnreadReason::NotOnRequest);
        }
    }

    /// No input waits for this view now.
    pub(super) fn leave_out(&mut self, id: &ViewId, reason: UnreadReason) {
        let tasks = self.views.get(id).map(|view| &view.tasks);
        for name in tasks.into_iter().flat_map(|tasks| tasks.keys()) {
            if let Some(entry) = self.tasks.get_mut(name) {
                entry.reads.leave_out(id, reason);
                self.agenda.note(name, entry);
            }
        }
    }

    /// A view starts from the beginning, or can be read again. Answers to requests may have been lost on their way.
    pub(super) fn request_owed_again(&mut self, id: &ViewId) {
        let mark = self.wanted_reads.mark();
        let tasks = self.views.get(id).map(|view| &view.tasks);
        for name in tasks.into_iter().flat_map(|tasks| tasks.keys()) {
            if let Some(entry) = self.tasks.get_mut(name)
                && entry.reads.request_owed_again(id, mark)
            {
                self.wanted_reads.add([id.clone()], true);
            }
        }
    }
}
