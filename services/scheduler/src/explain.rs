//! Why tasks run or do not, and in which state they are: the leader's stored notes, and the answers that any replica
//! makes of them.

mod build;
mod cause;
mod current;
mod group;
mod journal;
mod known;
mod stuck;
mod views;

pub(crate) use self::build::{explain, waiting_for};
pub(crate) use self::cause::cause;
pub(crate) use self::current::{ViewCounts, current_states};
pub(crate) use self::journal::Journal;
