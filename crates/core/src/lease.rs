//! The rules of leases: of one run by one worker, and of the leadership by one scheduler.
//!
//! A lease is a promise between a *keeper*, the database, and a *holder*. Both judge by their own clock
//! and never by each other's, so the rules are two separate sets.
//!
//! * **The keeper**, the row of a run or of the leadership, uses database time. Every grant to a different holder
//!   raises an epoch; every later message names the holder and the epoch, and is refused if the row has moved on. A
//!   lease never gets shorter, whatever is requested: an answer may be lost, and its holder still relies on the
//!   longer promise. A lease of a run that expired and was not taken back may still be completed, and a renewal puts
//!   it in force again: no other worker has the run.
//! * **The holder** ([`LeaseDeadlines`]) uses its monotonic clock and counts from the time of its *request*. The
//!   keeper grants no earlier than that, so the holder's view of the lease ends before the keeper's promise, however
//!   long the answer took and whatever the wall clocks do.
//!
//! # Why these fractions
//!
//! * Renewal is due after a third, so that after one lost request there is time for a second request.
//! * A worker gives up after half of the time to live. The other half belongs to Terraform: an interrupted apply has
//!   that time to end gently and to write its state (P5). A process that is left one [`LeaseDeadlines::margin`]
//!   before the end is killed; the margin covers the kill itself and clocks of different speeds. So no process writes
//!   when the keeper grants the run again (P1).
//! * A leader stops after two thirds. Its work consists of single writes to the database, each fenced by the epoch,
//!   so it needs no time to wind down, and a longer term bridges a longer outage. The rest keeps a leader that cannot
//!   reach the database from attempting writes that would be refused.
//!
//! # Meaning of a lost lease
//!
//! An expired lease is mostly the fault of its worker, or of an input that killed the worker; so it counts as an
//! attempt. The loss is no evidence if no scheduler could have renewed the lease, because all schedulers were silent
//! for longer than [`longest_pause`] after the lease was last granted or renewed: with every call for the leadership
//! a replica notes that schedulers serve (`leadership.served_since`). At the start of an embedded process no lost
//! lease counts, because any kill of the process interrupts all runs.
//!
//! # Obligations of the users of these rules
//!
//! * Giving up is final: a late renewal moves the deadlines of a [`LeaseDeadlines`], but stopped work must not be
//!   resumed.
//! * The holder of the leader row is one life of one process. With a name that outlives a restart, late messages of
//!   the dead process would take new epochs, and the writes of the living process would be refused.
//! * A leader's write without an answer may still happen later. Before the leader writes newer data it takes a new
//!   epoch, or the old write could undo the new write.
//! * A separate process must stop Terraform at the deadlines when the worker cannot, and must keep watching the
//!   deadlines: a worker that was stopped between its last look at the clock and the start of Terraform starts
//!   Terraform when it resumes.
//!
//! Cases that are *not* covered: a database clock that is set forward ends leases early (the simulation shows that two
//! Terraforms write at once then), and a whole host that is frozen and thawed does not see its own deadlines in
//! time. The state lock of the backend remains as the protection against both.

pub(crate) mod availability;
mod deadlines;
mod key;
pub(crate) mod lost_lease;
pub(crate) mod registration;
pub(crate) mod worker;

use std::time::Duration;

pub use deadlines::LeaseDeadlines;
pub use key::{LeaseKey, PlanKey};

/// Upper limit of the wait of a queued run and of the lease of a run. A time further in the future was written while
/// the keeper's clock was ahead of its present time.
pub const FARTHEST: Duration = Duration::from_hours(24);

/// The longest time to live of a run's lease.
pub const LONGEST_LEASE: Duration = Duration::from_mins(10);

/// Longest time between two signs of life of schedulers that is no gap in their service: half of the time to live of
/// the leadership. Each scheduler gives at least one sign in a third of that time.
pub fn longest_pause(leadership: Duration) -> Duration {
    leadership / 2
}
