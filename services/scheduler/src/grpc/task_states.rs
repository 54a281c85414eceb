//! States of tasks on the wire.

use std::collections::BTreeSet;

use cts_proto::task::v1 as proto;
use cts_rpc::convert;
use cts_store::TaskState;

use crate::wire::event_to_wire;

/// States by their newest events alone.
pub(super) fn on_wire(states: Vec<TaskState>, include_events: bool) -> Vec<proto::TaskState> {
    let states = states.into_iter();
    states
        .map(|state| state_to_wire(state, include_events))
        .collect()
}

/// The state of a task for the wire.
pub(super) fn state_to_wire(state: TaskState, include_events: bool) -> proto::TaskState {
    // Deprecated members: the values that the events name, or the task where no event exists.
    let distinct = |list: fn(&cts_core::EventConfig) -> &Vec<String>| -> Vec<String> {
        let all: BTreeSet<_> = state
            .events
            .iter()
            .flat_map(|event| list(&event.config))
            .collect();
        all.into_iter().cloned().collect()
    };
    let (providers, services) = if state.events.is_empty() {
        (state.providers, state.services)
    } else {
        (
            distinct(|config| &config.providers),
            distinct(|config| &config.services),
        )
    };
    proto::TaskState {
        task_name: state.task.into(),
        status: convert::task_status_to_wire(state.status).into(),
        enabled: state.enabled,
        providers,
        services,
        event_count: u32::try_from(state.events.len()).unwrap_or(u32::MAX),
        events: if include_events {
            state.events.into_iter().map(event_to_wire).collect()
        } else {
            Vec::new()
        },
        hold: state.held.map(convert::blocked_to_wire),
        check_error: state.check_error.unwrap_or_default(),
    }
}
