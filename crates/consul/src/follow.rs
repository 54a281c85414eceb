//! Following queries: one, and any number over few connections.

pub(crate) mod blocking_read;
pub(crate) mod followed_query;
pub(crate) mod poll;
pub(crate) mod poll_event;
pub(crate) mod query_pool;
pub(crate) mod query_slot;
pub(crate) mod read_requests;
