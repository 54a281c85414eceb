//! Reads of a view that a subscriber has requested and that have not come yet.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// Most requests that are remembered of a subscription.
const REMEMBERED: usize = 64;

/// The requests of one subscription, each with the mark of its subscriber.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestedReads(Arc<Mutex<VecDeque<(u64, u64)>>>);

impl RequestedReads {
    /// Notes a request by its number and its mark. If too many requests wait, the newest two are merged.
    pub(super) fn note(&self, number: u64, mark: u64) {
        let mut waiting = self.0.lock();
        waiting.truncate(REMEMBERED - 1);
        waiting.push_back((number, mark));
    }

    /// Takes the requests up to this number. Returns the mark of the newest.
    pub(super) fn take(&self, number: u64) -> Option<u64> {
        let mut waiting = self.0.lock();
        let mut newest = None;
        while let Some((_number, mark)) = waiting.pop_front_if(|(waits, _mark)| *waits <= number) {
            newest = Some(mark);
        }
        newest
    }
}
