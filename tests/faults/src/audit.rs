//! Every write to the rows that count, as triggers in the database have kept it, and the proofs from that.

mod applied_input;
mod brake;
mod cancels;
mod check;
mod connection;
mod decided;
mod deletion;
mod destruction;
mod equal_inputs;
mod input_text;
mod made_again;
pub(crate) mod postgres;
mod record;
mod rows;
mod starvation;
mod triggers;
mod withdrawn;

pub use applied_input::applied_inputs;
pub use brake::{Braked, braked};
pub use cancels::{Confirmed, cancels};
pub use check::{leaders, lone_events, runs};
pub use decided::{Decided, RemoteRuns, decisions};
pub use deletion::{Orphans, after_deletion};
pub use destruction::{Remains, destroyed, destructions};
pub use equal_inputs::equal_inputs;
pub use made_again::made_again;
pub(crate) use record::unfinished;
pub use record::{Audit, LeaderWrite, RunState, RunWrite, Settled, Skipped, Switched};
pub use starvation::{Bounds, Outage, Starvation, Wait, starvation};
pub use withdrawn::{InForce, withdrawn};
