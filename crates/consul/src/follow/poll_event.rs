//! Events of a followed query.

use std::time::Duration;

use cts_core::Item;

use crate::error::ConsulError;
use crate::health::UnreadableInstance;

/// Something became known of a query.
#[derive(Debug)]
pub enum PollEvent {
    /// Complete answer of Consul, possibly equal to the previous answer: Consul's index also moves for internal
    /// reasons, and after a failure the first answer is always passed on.
    Snapshot {
        /// Consul's index; 0 if it gives none.
        index: u64,
        /// Whether Consul reports that the token may not read all items.
        filtered: bool,
        /// The items in Consul's order.
        items: Vec<Item>,
        /// Further instances, whose data cannot be understood.
        unreadable: Vec<UnreadableInstance>,
    },
    /// Consul has answered a request that began after the read with this number was requested. A changed snapshot was
    /// sent before.
    Read { number: u64 },
    /// Consul did not answer the query; the loop continues.
    Failure {
        error: ConsulError,
        /// Number of consecutive failures, including this failure.
        failures: u32,
        /// Time since the connection of the query was cut, if that came before; else zero.
        failing_for: Duration,
        /// Time until the next request.
        retry_after: Duration,
    },
}
