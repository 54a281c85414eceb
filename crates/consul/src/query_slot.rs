//! The right of one follower to ask Consul.

use std::time::Duration;

use crate::query_pool::readers::ReadPermit;
use crate::settings::WAIT_TIME;

/// How a query may be asked now.
#[derive(Debug)]
pub(crate) enum Permit {
    /// Consul may hold the query for this long.
    Block(Duration),
    /// Consul is to answer at once.
    Read(ReadPermit),
}

/// The right of one follower to ask.
pub(crate) trait QuerySlot {
    /// Waits until the query may be asked. Cancel safe.
    async fn permit(&mut self) -> Permit;

    /// Notes an answer: its index, and whether it differs from the last answer.
    fn answered(&mut self, permit: &Permit, index: Option<u64>, is_new: bool);

    /// The query has to be asked again whether anything changes or not.
    fn failed(&mut self);
}

/// Asks at any time, and Consul may hold the query.
#[derive(Debug)]
pub(crate) struct OwnSlot;

impl QuerySlot for OwnSlot {
    async fn permit(&mut self) -> Permit {
        Permit::Block(WAIT_TIME)
    }

    fn answered(&mut self, _permit: &Permit, _index: Option<u64>, _is_new: bool) {}

    fn failed(&mut self) {}
}
