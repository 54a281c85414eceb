//! The watcher as its subscribers see it: through generated clients over the in-memory transport, in front of a
//! real Consul, or of a fake for behaviour that a healthy Consul does not have.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod endings;
mod faults;
mod following;
mod matching;
mod random;
mod refusals;
mod requested_reads;
mod rig;
mod sharing;
mod unreadable_keys;

use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(30);
