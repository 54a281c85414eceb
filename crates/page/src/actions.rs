//! The actions of the page: their table, buttons, confirmations and calls.

mod answers;
mod confirmation;
mod consent;
mod offer;
mod request;
mod table;
#[cfg(test)]
mod tests;

use cts_core::RunId;

pub(crate) use self::answers::{approvals, explanation, member, of_patterns, plan};
pub(crate) use self::confirmation::{Confirmation, Given, confirmation};
pub(crate) use self::consent::{changes, is_waiting, state as consent_state};
pub(crate) use self::offer::{of_brake, of_run, of_task, of_worker};
pub(crate) use self::request::carry_out;
pub(crate) use self::table::{ACTIONS, Key, at, find};
use crate::address::Query;
use crate::layout::Notice;

/// The message about the action that led to this address.
pub(crate) fn done(query: &Query) -> Option<Notice> {
    let word = query.get("done");
    let (_, action) = ACTIONS.iter().find(|(_, action)| action.word == word)?;
    let run = query.get("run").parse::<RunId>();
    Some(Notice::done(&match run {
        Ok(run) => format!("{} Run: {run}.", action.done),
        Err(_none) => action.done.to_owned(),
    }))
}

/// The path of the screen that has the form of the action at `path`.
pub(crate) fn screen_of(path: &str) -> String {
    match find(path) {
        Some((key, _)) if key.action().is_confirmed => path.to_owned(),
        Some((key, target)) => request::home((key, &target)),
        None => String::new(),
    }
}
