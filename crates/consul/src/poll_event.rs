//! Events of a followed query.

use std::time::Duration;

use cts_core::Item;

use crate::error::ConsulError;
use crate::health::UnreadableInstance;

/// Something became known of a query.
#[derive(Debug)]
pub enum PollEvent {
    /// Complete answer of Consul, possibly equal to the one before: Consul's index moves for reasons of its
    /// own, and after a failure the first answer always comes through.
    Snapshot {
        /// Consul's index; 0 if it gives none.
        index: u64,
        /// Whether Consul reports that the token may not read everything.
        filtered: bool,
        /// The items in Consul's order.
        items: Vec<Item>,
        /// Further instances, whose data cannot be understood.
        unreadable: Vec<UnreadableInstance>,
    },
    /// Consul has answered a request that began after the read with this number was requested. Its snapshot came before,
    /// if it is another.
    Read {
        /// The number.
        number: u64,
    },
    /// Consul could not be asked; the loop goes on.
    Failure {
        /// The error.
        error: ConsulError,
        /// Failures in a row, this one included.
        failures: u32,
        /// Time since the connection of the query was cut, if that came before; else zero.
        failing_for: Duration,
        /// Time until the next request.
        retry_after: Duration,
    },
}
