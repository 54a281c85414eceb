//! Known data of a task's Terraform state: cts-only (docs/rest.md#the-state-of-a-task).

use cts_proto::run::v1 as run;
use cts_proto::task::v1 as proto;
use serde::Serialize;

use super::run::{ShownTime, shown};
use crate::original::time_text::TimeText;
use crate::transport::request_log::RequestId;

/// Known data of a state.
#[derive(Debug, Serialize)]
pub(crate) struct StateAnswer<'a> {
    request_id: RequestId,
    task: &'a str,
    state: Option<KnownObject<'a>>,
    conflict: Option<ConflictObject<'a>>,
    keep: Option<&'static str>,
    from: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct KnownObject<'a> {
    lineage: &'a str,
    serial: u64,
    moves: u32,
    recorded_at: Option<TimeText>,
}

#[derive(Debug, Serialize)]
struct ConflictObject<'a> {
    reason: &'a str,
    at: Option<TimeText>,
    old: Option<PlaceObject<'a>>,
    new: Option<PlaceObject<'a>>,
}

/// State in a backend; without a lineage the backend has no state there.
#[derive(Debug, Serialize)]
struct PlaceObject<'a> {
    backend: &'a str,
    workspace: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    lineage: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<u64>,
}

impl<'a> StateAnswer<'a> {
    /// Converts `state` of the task `name`, times shown by `local_time`.
    pub(crate) fn new(
        name: &'a str,
        state: &'a proto::KnownTerraformState,
        local_time: ShownTime<'_>,
        request_id: RequestId,
    ) -> Self {
        let kept = state.known.as_ref();
        let known = kept.filter(|known| !known.lineage.is_empty());
        Self {
            request_id,
            task: name,
            state: known.map(|known| KnownObject {
                lineage: &known.lineage,
                serial: known.serial,
                moves: known.moves,
                recorded_at: shown(state.recorded_at.as_ref(), local_time),
            }),
            conflict: state.conflict.as_ref().map(|conflict| ConflictObject {
                reason: &conflict.reason,
                at: shown(state.conflict_at.as_ref(), local_time),
                old: conflict.old.as_ref().map(PlaceObject::new),
                new: conflict.new.as_ref().map(PlaceObject::new),
            }),
            keep: kept.and_then(|known| match known.keep() {
                run::StateKeep::Unspecified => None,
                run::StateKeep::Old => Some("old"),
                run::StateKeep::New => Some("new"),
            }),
            from: kept.and_then(|known| Some(&*known.from).filter(|from| !from.is_empty())),
        }
    }
}

impl<'a> PlaceObject<'a> {
    fn new(at: &'a run::StateAt) -> Self {
        let state = at.state.as_ref();
        Self {
            backend: &at.backend,
            workspace: &at.workspace,
            lineage: state.map(|state| &*state.lineage),
            serial: state.map(|state| state.serial),
            resources: state.and_then(|state| state.resources),
        }
    }
}
