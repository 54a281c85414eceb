//! The bodies of cts's own answers, to the byte: from messages with every member set, and from empty ones.

mod filled;

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::FixedOffset;
use cts_proto::cluster::v1::GetConfigurationResponse;
use cts_proto::json::{KnownState, LocalTime, in_local_time};
use cts_proto::log::v1::ReadLogResponse;
use cts_proto::run::v1::{FollowRunsResponse, GetQueueResponse, ListRunsResponse, Run};
use cts_proto::task::v1::{Explanation, Hold, KnownTerraformState, TaskState, TaskStatus};
use serde::Serialize;

use super::*;
use crate::transport::json;
use crate::transport::request_log::RequestId;

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

fn released(hold: Option<Hold>) -> String {
    text(&ReleasedAnswer::new(hold, id()))
}

fn state(state: KnownTerraformState) -> String {
    id_first(KnownState::new("web".to_owned(), state))
}

fn status(state: &TaskState) -> String {
    let status = TaskStatusAnswer::new(state);
    text(&TaskStatusesAnswer::from_iter([status.unwrap()]))
}

#[test]
fn bodies_of_own_answers_stay_as_they_are() {
    let unknown = TaskState {
        status: TaskStatus::Unknown.into(),
        ..TaskState::default()
    };
    let bodies = [
        ("queue", id_last(filled::queue())),
        ("empty queue", id_last(GetQueueResponse::default())),
        ("configuration", id_last(filled::configuration())),
        (
            "empty configuration",
            id_last(GetConfigurationResponse::default()),
        ),
        (
            "configuration of empty members",
            id_last(filled::empty_members()),
        ),
        ("runs", id_first(filled::runs())),
        ("empty runs", id_first(ListRunsResponse::default())),
        ("run", run(filled::run())),
        ("empty run", run(Run::default())),
        ("run of empty details", run(filled::empty_details())),
        ("explanation", explanation(filled::explanation())),
        ("empty explanation", explanation(Explanation::default())),
        (
            "explanation of empty parts",
            explanation(filled::empty_parts()),
        ),
        ("released", released(Some(filled::hold()))),
        (
            "released from nothing known",
            released(Some(Hold::default())),
        ),
        ("not released", released(None)),
        ("state", state(filled::state())),
        ("empty state", state(KnownTerraformState::default())),
        ("state of empty parts", state(filled::empty_state())),
        ("status", status(&filled::task_state())),
        ("empty status", status(&unknown)),
        ("change", text(&filled::change())),
        ("empty change", text(&FollowRunsResponse::default())),
        ("log", text(&filled::log())),
        ("empty log", text(&ReadLogResponse::default())),
    ];
    let mut all = String::new();
    for (name, body) in bodies {
        write!(all, "{name}: {body}").unwrap();
    }
    insta::assert_snapshot!(all);
}
