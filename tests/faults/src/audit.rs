//! Every write to the rows that count, as triggers in the database have kept it, and what it proves.

mod check;
mod record;

pub use check::{leaders, lone_events, runs};
pub use record::{Audit, LeaderWrite, RunState, RunWrite, Switched, unfinished};
