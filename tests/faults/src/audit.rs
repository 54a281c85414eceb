//! Every write to the rows that count, as triggers in the database have kept it, and what it proves.

mod check;
mod deletion;
mod equal_inputs;
mod made_again;
pub(crate) mod postgres;
mod record;
mod rows;
mod sqlite;
mod starvation;

pub use check::{leaders, lone_events, runs};
pub use deletion::{Orphans, after_deletion};
pub use equal_inputs::equal_inputs;
pub use made_again::made_again;
pub(crate) use record::unfinished;
pub use record::{Audit, LeaderWrite, RunState, RunWrite, Settled, Switched};
pub use starvation::{Bounds, Outage, Starvation, Wait, starvation};
