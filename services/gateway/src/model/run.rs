//! Runs, their logs and their events: cts-only endpoints.

use chrono::{DateTime, FixedOffset, Utc};
use cts_proto::log::v1 as log;
use cts_proto::run::v1 as proto;
use cts_rpc::convert::timestamp_from_wire;
use serde::Serialize;

use super::run_details::DetailsObject;
use crate::original::time_text::TimeText;
use crate::transport::request_log::RequestId;

/// Shows moments as this place has them.
pub(super) type ShownTime<'a> = &'a dyn Fn(DateTime<Utc>) -> DateTime<FixedOffset>;

/// A page of runs.
#[derive(Debug, Serialize)]
pub(crate) struct RunsAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) runs: Vec<RunObject<'a>>,
    /// For the parameter `after`; absent on the last page.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) next: &'a str,
}

/// One run.
#[derive(Debug, Serialize)]
pub(crate) struct RunAnswer<'a> {
    pub(crate) request_id: RequestId,
    pub(crate) run: RunObject<'a>,
}

/// A run. Times and texts that there are not yet are left out.
#[derive(Debug, Serialize)]
pub(crate) struct RunObject<'a> {
    id: &'a str,
    task_name: &'a str,
    kind: String,
    status: String,
    no_retry: bool,
    attempts: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    error: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<PlanObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queued_at: Option<TimeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<TimeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finished_at: Option<TimeText>,
    #[serde(skip_serializing_if = "str::is_empty")]
    waiting_for: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<DetailsObject<'a>>,
}

/// The text is left out in lists.
#[derive(Debug, Serialize)]
struct PlanObject<'a> {
    changes_present: bool,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
}

impl<'a> RunObject<'a> {
    /// Converts `run`, times shown by `local_time`.
    pub(crate) fn new(run: &'a proto::Run, local_time: ShownTime<'_>) -> Self {
        Self {
            id: &run.id,
            task_name: &run.task_name,
            kind: word(run.kind().as_str_name(), "RUN_KIND_"),
            status: word(run.status().as_str_name(), "RUN_STATUS_"),
            no_retry: run.no_retry,
            attempts: run.attempts,
            error: &run.error,
            plan: run.plan.as_ref().map(|plan| PlanObject {
                changes_present: plan.changes_present,
                text: &plan.text,
            }),
            queued_at: shown(run.queued_at.as_ref(), local_time),
            started_at: shown(run.started_at.as_ref(), local_time),
            finished_at: shown(run.finished_at.as_ref(), local_time),
            waiting_for: &run.waiting_for,
            details: run.details.as_ref().map(DetailsObject::from),
        }
    }
}

/// A run got another status.
#[derive(Debug, Serialize)]
pub(crate) struct RunChange<'a> {
    id: &'a str,
    task_name: &'a str,
    kind: String,
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<TimeText>,
}

impl<'a> RunChange<'a> {
    /// Converts `change`, times shown by `local_time`.
    pub(crate) fn new(change: &'a proto::FollowRunsResponse, local_time: ShownTime<'_>) -> Self {
        Self {
            id: &change.run_id,
            task_name: &change.task_name,
            kind: word(change.kind().as_str_name(), "RUN_KIND_"),
            status: word(change.status().as_str_name(), "RUN_STATUS_"),
            at: shown(change.at.as_ref(), local_time),
        }
    }
}

/// A part of a log.
#[derive(Debug, Serialize)]
pub(crate) struct LogLines<'a> {
    /// Position of the last line, for the parameter `after`.
    position: u64,
    lines: Vec<LogLineObject<'a>>,
}

#[derive(Debug, Serialize)]
struct LogLineObject<'a> {
    stream: String,
    text: &'a str,
}

impl<'a> From<&'a log::ReadLogResponse> for LogLines<'a> {
    fn from(part: &'a log::ReadLogResponse) -> Self {
        let lines = part.lines.iter().map(|line| LogLineObject {
            stream: word(line.stream().as_str_name(), "LOG_STREAM_"),
            text: &line.text,
        });
        Self {
            position: part.position,
            lines: lines.collect(),
        }
    }
}

/// The word for a value of an enumeration of the wire; `unknown` for one that a newer scheduler has.
pub(super) fn word(name: &str, prefix: &str) -> String {
    match name.strip_prefix(prefix) {
        None | Some("UNSPECIFIED") => "unknown".to_owned(),
        Some(word) => word.to_ascii_lowercase(),
    }
}

/// A moment, if there is one.
pub(super) fn shown(
    at: Option<&prost_types::Timestamp>,
    local_time: ShownTime<'_>,
) -> Option<TimeText> {
    timestamp_from_wire(at).map(|at| TimeText(local_time(at)))
}
