//! The state of a task in one line.

use std::fmt;

use cts_proto::json::Word as _;
use cts_proto::task::v1::{CurrentState, CurrentStateName};

use crate::state::State;
use crate::text::Foreign;
use crate::time::Time;

/// A state with its times, its worker and its reason, as `cts status` shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateLine<'a>(pub(crate) &'a CurrentState);

impl fmt::Display for StateLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0;
        State(state.name().word()).fmt(f)?;
        let [since, until] = [state.since, state.until].map(|at| Time::of(at.as_ref()));
        match (state.name(), since, until) {
            (CurrentStateName::Retrying, _, Some(until)) => write!(f, ", next try {until}")?,
            (_, _, Some(until)) => write!(f, " until {until}")?,
            (_, Some(since), None) => write!(f, " since {since}")?,
            (_, None, None) => {}
        }
        if !state.worker.is_empty() {
            write!(f, " on {}", Foreign(&state.worker))?;
        }
        if !state.text.is_empty() {
            write!(f, ": {}", Foreign(&state.text))?;
        }
        if let Some(since) = Time::of(state.phase_since.as_ref()) {
            write!(f, ", in {} since {since}", state.phase().word())?;
        }
        Ok(())
    }
}

impl askama::filters::HtmlSafe for StateLine<'_> {}
