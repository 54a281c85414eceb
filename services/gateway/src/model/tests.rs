//! The bodies of cts's own answers, to the byte: from messages with every member set, and from empty ones.

mod filled;

use std::fmt::Write as _;
use std::sync::Arc;

use chrono::FixedOffset;
use cts_proto::cluster::v1::GetConfigurationResponse;
use cts_proto::log::v1::ReadLogResponse;
use cts_proto::run::v1::{FollowRunsResponse, GetQueueResponse, ListRunsResponse, Run};
use cts_proto::task::v1::{Explanation, Hold, KnownTerraformState, TaskState, TaskStatus};
use serde::Serialize;

use super::*;
use crate::options::LocalTime;
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
    String::from_utf8(json::line(answer)).unwrap()
}

fn queue(queue: &GetQueueResponse) -> String {
    text(&QueueAnswer::new(queue, id()))
}

fn configuration(configuration: &GetConfigurationResponse) -> String {
    text(&ConfigurationAnswer::new(
        configuration,
        &*local_time(),
        id(),
    ))
}

fn runs(page: &ListRunsResponse) -> String {
    let runs = page.runs.iter();
    text(&RunsAnswer {
        request_id: id(),
        runs: runs
            .map(|run| RunObject::new(run, &*local_time()))
            .collect(),
        next: &page.next_page_token,
    })
}

fn run(run: &Run) -> String {
    text(&RunAnswer {
        request_id: id(),
        run: RunObject::new(run, &*local_time()),
    })
}

fn explanation(explanation: &Explanation) -> String {
    text(&ExplanationAnswer::new(explanation, &*local_time(), id()))
}

fn released(hold: Option<&Hold>) -> String {
    text(&ReleasedAnswer::new(hold, &*local_time(), id()))
}

fn state(state: &KnownTerraformState) -> String {
    text(&StateAnswer::new("web", state, &*local_time(), id()))
}

fn status(state: &TaskState) -> String {
    let status = TaskStatusAnswer::new(state, &*local_time());
    text(&TaskStatusesAnswer::from_iter([status.unwrap()]))
}

fn change(change: &FollowRunsResponse) -> String {
    text(&RunChange::new(change, &*local_time()))
}

fn log(part: &ReadLogResponse) -> String {
    text(&LogLines::from(part))
}

#[test]
fn bodies_of_own_answers_stay_as_they_are() {
    let unknown = TaskState {
        status: TaskStatus::Unknown.into(),
        ..TaskState::default()
    };
    let bodies = [
        ("queue", queue(&filled::queue())),
        ("empty queue", queue(&GetQueueResponse::default())),
        ("configuration", configuration(&filled::configuration())),
        (
            "empty configuration",
            configuration(&GetConfigurationResponse::default()),
        ),
        (
            "configuration of empty members",
            configuration(&filled::empty_members()),
        ),
        ("runs", runs(&filled::runs())),
        ("empty runs", runs(&ListRunsResponse::default())),
        ("run", run(&filled::run())),
        ("empty run", run(&Run::default())),
        ("run of empty details", run(&filled::empty_details())),
        ("explanation", explanation(&filled::explanation())),
        ("empty explanation", explanation(&Explanation::default())),
        (
            "explanation of empty parts",
            explanation(&filled::empty_parts()),
        ),
        ("released", released(Some(&filled::hold()))),
        (
            "released from nothing known",
            released(Some(&Hold::default())),
        ),
        ("not released", released(None)),
        ("state", state(&filled::state())),
        ("empty state", state(&KnownTerraformState::default())),
        ("state of empty parts", state(&filled::empty_state())),
        ("status", status(&filled::task_state())),
        ("empty status", status(&unknown)),
        ("change", change(&filled::change())),
        ("empty change", change(&FollowRunsResponse::default())),
        ("log", log(&filled::log())),
        ("empty log", log(&ReadLogResponse::default())),
    ];
    let mut all = String::new();
    for (name, body) in bodies {
        write!(all, "{name}: {body}").unwrap();
    }
    insta::assert_snapshot!(all);
}
