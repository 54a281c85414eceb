//! States of tasks at a moment, for people.

use cts_proto::json::Word as _;
use cts_proto::task::v1::{CurrentState, CurrentStateName};

use crate::commands::time_text::{local, moment, time_of_day};

/// The name of a state, such as `never run`.
pub(super) fn name(state: &CurrentState) -> String {
    state.name().word().replace('_', " ")
}

/// A state in one line: `running since 2026-02-03 10:15:30 on w-1: apply, in init since 10:15:31`.
pub(super) fn sentence(state: &CurrentState) -> String {
    let mut text = name(state);
    let since = moment(state.since).map(local);
    let until = moment(state.until).map(local);
    match (state.name(), since, until) {
        (CurrentStateName::Retrying, _, Some(until)) => text = format!("{text}, next try {until}"),
        (_, _, Some(until)) => text = format!("{text} until {until}"),
        (_, Some(since), None) => text = format!("{text} since {since}"),
        (_, None, None) => {}
    }
    if !state.worker.is_empty() {
        text = format!("{text} on {}", state.worker);
    }
    if !state.text.is_empty() {
        text = format!("{text}: {}", state.text);
    }
    if let Some(since) = moment(state.phase_since) {
        let phase = state.phase().word();
        text = format!("{text}, in {phase} since {}", time_of_day(since));
    }
    text
}

#[cfg(test)]
mod tests {
    use cts_proto::run::v1::RunPhase;

    use super::*;

    #[test]
    fn a_state_has_its_time_worker_and_reason() {
        let at = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
        let shown = |seconds| local(moment(at(seconds)).unwrap());
        let state = |name: CurrentStateName, since, until, text: &str, worker: &str| CurrentState {
            name: name.into(),
            since,
            until,
            text: text.into(),
            run_id: String::new(),
            worker: worker.into(),
            ..CurrentState::default()
        };
        let cases = [
            (
                state(CurrentStateName::Running, at(7), None, "apply", "w-1"),
                format!("running since {} on w-1: apply", shown(7)),
            ),
            (
                state(
                    CurrentStateName::Retrying,
                    at(7),
                    at(9),
                    "exit status 1",
                    "",
                ),
                format!("retrying, next try {}: exit status 1", shown(9)),
            ),
            (
                state(CurrentStateName::Waiting, None, at(9), "", ""),
                format!("waiting until {}", shown(9)),
            ),
            (
                state(CurrentStateName::NeverRun, None, None, "", ""),
                "never run".to_owned(),
            ),
        ];
        for (state, expected) in cases {
            assert_eq!(sentence(&state), expected);
        }
        let in_phase = CurrentState {
            phase: RunPhase::Init.into(),
            phase_since: at(8),
            ..state(CurrentStateName::Running, at(7), None, "apply", "w-1")
        };
        let since = time_of_day(moment(at(8)).unwrap());
        let expected = format!(
            "running since {} on w-1: apply, in init since {since}",
            shown(7)
        );
        assert_eq!(sentence(&in_phase), expected);
    }
}
