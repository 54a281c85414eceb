//! The rules of leases: of one run by one worker, and of the leadership by one scheduler.
//!
//! A lease is a promise between a *keeper*, the database, and a *holder*. Both judge by their own clock
//! and never by each other's, so the rules are two separate sets.
//!
//! * **The keeper**, the row of a run or of the leadership, goes by database time. Every grant to another
//!   holder raises an epoch; every later message names the holder and the epoch and is refused when the row has
//!   moved on. A lease never gets shorter, whatever is asked: an answer may be lost, and its holder still
//!   counts on the longer promise. A lease of a run that expired and was not taken back may still be completed, and a
//!   renewal puts it in force again: no other worker has the run.
//! * **The holder** ([`LeaseDeadlines`]) goes by its monotonic clock and counts from the moment when it *asked*. The
//!   keeper grants no earlier than that, so what the holder believes ends before what the keeper
//!   promised, however long the answer took and whatever the wall clocks do.
//!
//! # Why these fractions
//!
//! * Renewal is due after a third, so that one lost request still leaves time for a second.
//! * A worker gives up after half of the life. The other half belongs to Terraform: an interrupted apply has
//!   that time to end gently and to write its state (P5). A process that is left one [`LeaseDeadlines::margin`]
//!   before the end is killed; the margin pays for the kill itself and for clocks that do not run alike. So
//!   nothing writes when the keeper grants the run again (P1).
//! * A leader stops after two thirds. Its work consists of single writes to the database, each fenced by the
//!   epoch, so nothing has to be wound down, and a longer term bridges a longer outage. The rest keeps a leader
//!   that cannot reach the database from trying writes that would be refused.
//!
//! # Meaning of a lost lease
//!
//! A lease that ends without a word is mostly the fault of its worker, and perhaps of the input that killed the
//! worker; so it counts as an attempt. The loss says nothing if no scheduler could have renewed the lease,
//! because all schedulers were silent for longer than [`longest_pause`] after the lease was granted or renewed
//! last: with every call for the leadership a replica notes that schedulers serve (`leadership.served_since`). At the
//! start of an embedded process no lost lease counts, because any kill of the process cuts off everything that runs.
//!
//! # Obligations of the users of these rules
//!
//! * Giving up is final: a late renewal moves the deadlines of a [`LeaseDeadlines`], but nothing that was
//!   stopped may be taken up again.
//! * The holder of the leader row is one life of one process. With a name that outlives a restart, late
//!   messages of the dead process would take new epochs, and the writes of the living one would be refused.
//! * A leader's write without an answer may still happen later. Before the leader writes something newer
//!   it takes a new epoch, or the old write could undo the new one.
//! * A process other than the worker must stop Terraform at the deadlines when the worker cannot, and must go
//!   on watching them: a worker that was stopped between its last look at the clock and the start of Terraform
//!   starts it when it wakes.
//!
//! Cases that are *not* covered: a database clock that is set forward ends leases early (the simulation shows that two
//! Terraforms write at once then), and a whole host that is frozen and thawed does not see its own deadlines in
//! time. The state lock of the backend remains as the protection against both.

mod deadlines;
mod key;

use std::time::Duration;

pub use deadlines::LeaseDeadlines;
pub use key::LeaseKey;

/// No queued run waits for so long, and no run is leased for so long: a moment that is further away was written while the
/// keeper's clock was ahead of the one that it has now.
pub const FARTHEST: Duration = Duration::from_hours(24);

/// The longest life that the lease of a run has.
pub const LONGEST_LEASE: Duration = Duration::from_mins(10);

/// Longest time between two signs of life of schedulers that is not a gap in their service: half of the life of
/// the leadership. Each scheduler gives one at least once in a third of that life.
pub fn longest_pause(leadership: Duration) -> Duration {
    leadership / 2
}
