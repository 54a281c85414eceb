//! The right of one follower to send its query to Consul.

use std::time::Duration;

use crate::follow::query_pool::readers::ReadPermit;
use crate::settings::WAIT_TIME;

/// The way in which a query may be sent now.
#[derive(Debug)]
pub(crate) enum Permit {
    /// Consul may hold the query for this long.
    Block(Duration),
    /// Consul is to answer at once.
    Read(ReadPermit),
}

/// The right of one follower to send its query.
pub(crate) trait QuerySlot {
    /// Waits until the query may be sent. Cancel safe.
    async fn permit(&mut self) -> Permit;

    /// Notes an answer: its index, and whether it differs from the last answer.
    fn answered(&mut self, permit: &Permit, index: Option<u64>, is_new: bool);

    /// The query must be sent again, regardless of changes.
    fn failed(&mut self);
}

/// Permits requests at any time, which Consul may hold.
#[derive(Debug)]
pub(crate) struct OwnSlot;

impl QuerySlot for OwnSlot {
    async fn permit(&mut self) -> Permit {
        Permit::Block(WAIT_TIME)
    }

    fn answered(&mut self, _permit: &Permit, _index: Option<u64>, _is_new: bool) {}

    fn failed(&mut self) {}
}
