//! Why tasks run or do not: the leader's stored notes, and the answers that any replica makes of them.

mod build;
mod journal;
mod known;

pub(crate) use self::build::{explain, waiting_for};
pub(crate) use self::journal::Journal;
