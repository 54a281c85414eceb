//! Why tasks run or do not run, and their states: the leader's stored notes, and the answers that any replica makes
//! from these notes.

mod approval;
mod board;
mod brake;
mod build;
mod cause;
mod current;
mod group;
mod journal;
mod kept;
mod known;
pub(crate) mod lacking_blocks;
mod stuck;
mod versions;
mod view_counts;
mod views;

pub(crate) use self::board::{Board, Changes, Looked};
pub(crate) use self::build::{explain, waiting_for};
pub(crate) use self::cause::{cause, has_all_applies, input};
pub(crate) use self::journal::Journal;
pub(crate) use self::kept::{Summary, TaskMark};
pub(crate) use self::view_counts::ViewCounts;
