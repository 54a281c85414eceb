//! Services and clients that this program plays.

pub(crate) mod askers;
pub(crate) mod busy;
pub(crate) mod changes;
pub(crate) mod hands;
pub(crate) mod held_runs;
pub(crate) mod page_readers;
pub(crate) mod played_watcher;
pub(crate) mod steady_client;
pub(crate) mod watch_subscription;
