//! The bodies of cts's own answers, to the byte: from messages with every member set, and from empty ones.

mod filled;
mod overviews;
mod schemas;
mod sparse;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use chrono::FixedOffset;
use cts_proto::access::v1::ListAuditRecordsResponse;
use cts_proto::cluster::v1::{
    Brake, GetConfigurationResponse, GetOverviewResponse, GetTimesResponse,
};
use cts_proto::json::{KnownState, LocalTime, in_local_time};
use cts_proto::log::v1::{ReadLogResponse, ReadLogWindowResponse};
use cts_proto::run::v1::{
    Approval, FollowRunsResponse, GetQueueResponse, ListCausesResponse, ListRunsResponse, Run,
};
use cts_proto::task::v1::{
    Explanation, GetTaskGridResponse, Hold, KnownTerraformState, ListTaskPageResponse, NamedState,
    TaskState, TaskStatus,
};
use serde::Serialize;

use super::*;
use crate::json;
use crate::request_id::RequestId;

/// One hour ahead of UTC.
fn local_time() -> LocalTime {
    Arc::new(|at| at.with_timezone(&FixedOffset::east_opt(3600).unwrap()))
}

fn id() -> RequestId {
    RequestId(uuid::Uuid::from_u128(7))
}

fn text(answer: &impl Serialize) -> String {
    String::from_utf8(in_local_time(&local_time(), || json::line(answer))).unwrap()
}

fn id_first(message: impl Serialize) -> String {
    text(&IdFirst {
        request_id: id(),
        message,
    })
}

fn id_last(message: impl Serialize) -> String {
    text(&IdLast {
        message,
        request_id: id(),
    })
}

fn run(run: Run) -> String {
    text(&RunAnswer {
        request_id: id(),
        run,
    })
}

fn explanation(explanation: Explanation) -> String {
    text(&ExplanationAnswer {
        request_id: id(),
        explanation,
    })
}

fn current_states(states: Vec<NamedState>) -> String {
    id_first(BTreeMap::from([("tasks", states)]))
}

fn released(hold: Option<Hold>) -> String {
    text(&ReleasedAnswer::new(hold, id()))
}

fn released_brake(released: Option<Brake>) -> String {
    text(&ReleasedBrakeAnswer {
        request_id: id(),
        released,
    })
}

fn approvals(approvals: Vec<Approval>) -> String {
    text(&ApprovalsAnswer {
        request_id: id(),
        approvals,
        set: "77c2".to_owned(),
    })
}

fn state(state: KnownTerraformState) -> String {
    id_first(KnownState::new("web".to_owned(), state))
}

fn status(state: &TaskState) -> String {
    let status = TaskStatusAnswer::new(state);
    text(&TaskStatusesAnswer::from_iter([status.unwrap()]))
}

/// An example of a body: its name, its schema in the `OpenAPI` document, and the body.
type Example = (&'static str, &'static str, String);

/// Examples of all own answers. Bodies that the document does not describe, and bodies of messages that no
/// scheduler sends, have no schema.
fn examples() -> Vec<Example> {
    let unknown = TaskState {
        status: TaskStatus::Unknown.into(),
        ..TaskState::default()
    };
    let no_queue = GetQueueResponse::default();
    let no_configuration = GetConfigurationResponse::default();
    let no_explanation = Explanation::default();
    let nothing_known = KnownTerraformState::default();
    let mut examples = vec![
        ("queue", "Queue", id_last(filled::queue())),
        ("empty queue", "Queue", id_last(no_queue)),
        (
            "configuration",
            "ConfigurationAnswer",
            id_last(filled::configuration()),
        ),
        (
            "empty configuration",
            "ConfigurationAnswer",
            id_last(no_configuration),
        ),
        (
            "configuration of empty members",
            "ConfigurationAnswer",
            id_last(sparse::members()),
        ),
        (
            "overview",
            "OverviewAnswer",
            id_first(overviews::overview()),
        ),
        (
            "empty overview",
            "OverviewAnswer",
            id_first(GetOverviewResponse::default()),
        ),
        (
            "overview of empty parts",
            "OverviewAnswer",
            id_first(overviews::empty()),
        ),
        (
            "current states",
            "CurrentStatesAnswer",
            current_states(overviews::current_states()),
        ),
        ("task page", "TaskPageAnswer", id_first(overviews::page())),
        (
            "empty task page",
            "TaskPageAnswer",
            id_first(ListTaskPageResponse::default()),
        ),
        ("task grid", "TaskGridAnswer", id_first(overviews::grid())),
        (
            "empty task grid",
            "TaskGridAnswer",
            id_first(GetTaskGridResponse::default()),
        ),
        ("times", "TimesAnswer", id_first(overviews::times())),
        (
            "empty times",
            "TimesAnswer",
            id_first(GetTimesResponse::default()),
        ),
        ("runs", "RunsAnswer", id_first(filled::runs())),
        (
            "empty runs",
            "RunsAnswer",
            id_first(ListRunsResponse::default()),
        ),
        ("causes", "CausesAnswer", id_first(filled::causes())),
        (
            "empty causes",
            "CausesAnswer",
            id_first(ListCausesResponse::default()),
        ),
        ("run", "RunAnswer", run(filled::run())),
        ("empty run", "RunAnswer", run(Run::default())),
        ("run of empty details", "RunAnswer", run(sparse::details())),
        (
            "empty explanation",
            "ExplanationAnswer",
            explanation(no_explanation),
        ),
        (
            "explanation of empty parts",
            "ExplanationAnswer",
            explanation(sparse::parts()),
        ),
        ("released", "ReleasedAnswer", released(Some(filled::hold()))),
        (
            "released from the shrink limit alone",
            "ReleasedAnswer",
            released(Some(Hold {
                by_brake: false,
                ..filled::hold()
            })),
        ),
        (
            "released from nothing known",
            "",
            released(Some(Hold::default())),
        ),
        ("not released", "ReleasedAnswer", released(None)),
        ("brake", "BrakeAnswer", id_first(overviews::brake())),
        ("empty brake", "BrakeAnswer", id_first(Brake::default())),
        (
            "released brake",
            "ReleasedBrakeAnswer",
            released_brake(Some(overviews::brake())),
        ),
        (
            "empty released brake",
            "ReleasedBrakeAnswer",
            released_brake(Some(Brake::default())),
        ),
        (
            "no released brake",
            "ReleasedBrakeAnswer",
            released_brake(None),
        ),
        (
            "approvals",
            "ApprovalsAnswer",
            approvals(filled::approvals()),
        ),
        (
            "empty approvals",
            "ApprovalsAnswer",
            approvals(vec![Approval {
                asked_at: Some(filled::at(0, 0)),
                ..Approval::default()
            }]),
        ),
        ("state", "StateAnswer", state(filled::state())),
        ("empty state", "StateAnswer", state(nothing_known)),
        (
            "state of empty parts",
            "StateAnswer",
            state(sparse::state()),
        ),
        ("audit", "AuditAnswer", id_first(filled::audit())),
        (
            "empty audit",
            "AuditAnswer",
            id_first(ListAuditRecordsResponse::default()),
        ),
        (
            "audit of empty records",
            "AuditAnswer",
            id_first(sparse::audit()),
        ),
        ("status", "", status(&filled::task_state())),
        ("empty status", "", status(&unknown)),
        ("change", "", text(&filled::change())),
        ("empty change", "", text(&FollowRunsResponse::default())),
        ("log", "", text(&filled::log())),
        ("empty log", "", text(&ReadLogResponse::default())),
        ("log window", "", text(&filled::log_window())),
        (
            "empty log window",
            "",
            text(&ReadLogWindowResponse::default()),
        ),
        ("log search", "", text(&filled::log_search())),
    ];
    let explanations =
        overviews::explanations().map(|it| ("explanation", "ExplanationAnswer", explanation(it)));
    examples.extend(explanations);
    examples
}

#[test]
fn bodies_of_own_answers_stay_as_they_are() {
    let mut all = String::new();
    for (name, _, body) in examples() {
        write!(all, "{name}: {body}").unwrap();
    }
    insta::assert_snapshot!(all);
}
