//! Statuses and events (docs/rest.md#overall-status, #task-status).

use std::borrow::Cow;

use cts_core::TaskStatus;
use cts_core::hidden::without_secrets;
use cts_proto::json;
use cts_proto::run::v1::ResourceCounts;
use cts_proto::task::v1 as proto;
use cts_rpc::ConversionError;
use cts_rpc::convert::{task_status_from_wire, timestamp_from_wire};
use prost_types::Timestamp;
use serde::{Serialize, Serializer};

use super::error::ErrorMessage;

/// Numbers of tasks.
#[derive(Debug, Serialize)]
pub(crate) struct OverallStatusAnswer {
    task_summary: TaskSummary,
}

#[derive(Debug, Default, Serialize)]
struct TaskSummary {
    status: StatusCounts,
    enabled: EnabledCounts,
}

#[derive(Debug, Default, Serialize)]
struct StatusCounts {
    successful: usize,
    errored: usize,
    critical: usize,
    unknown: usize,
}

#[derive(Debug, Default, Serialize)]
struct EnabledCounts {
    r#true: usize,
    r#false: usize,
}

impl OverallStatusAnswer {
    /// Counts `states`.
    pub(crate) fn count<'a>(
        states: impl Iterator<Item = &'a proto::TaskState>,
    ) -> Result<Self, ConversionError> {
        let mut summary = TaskSummary::default();
        for state in states {
            *match status_of(state)? {
                TaskStatus::Successful => &mut summary.status.successful,
                TaskStatus::Errored => &mut summary.status.errored,
                TaskStatus::Critical => &mut summary.status.critical,
                TaskStatus::Unknown => &mut summary.status.unknown,
            } += 1;
            *if state.enabled {
                &mut summary.enabled.r#true
            } else {
                &mut summary.enabled.r#false
            } += 1;
        }
        Ok(Self {
            task_summary: summary,
        })
    }
}

/// The status of a task that the service sent.
fn status_of(state: &proto::TaskState) -> Result<TaskStatus, ConversionError> {
    task_status_from_wire(state.status()).ok_or(ConversionError::Missing {
        field: "TaskState.status",
    })
}

/// Statuses by task name, sorted. Also the answer about a single task.
#[derive(Debug, Default)]
pub(crate) struct TaskStatusesAnswer<'a>(Vec<TaskStatusAnswer<'a>>);

impl<'a> FromIterator<TaskStatusAnswer<'a>> for TaskStatusesAnswer<'a> {
    fn from_iter<I: IntoIterator<Item = TaskStatusAnswer<'a>>>(statuses: I) -> Self {
        let mut statuses: Vec<_> = statuses.into_iter().collect();
        statuses.sort_by_key(|status| status.task_name);
        Self(statuses)
    }
}

impl Serialize for TaskStatusesAnswer<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|status| (status.task_name, status)))
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct TaskStatusAnswer<'a> {
    task_name: &'a str,
    status: &'static str,
    enabled: bool,
    events_url: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    events: Vec<EventObject<'a>>,
    providers: &'a [String],
    services: &'a [String],
    /// Ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<&'a proto::Hold>,
    #[serde(skip_serializing_if = "str::is_empty")]
    check_error: &'a str,
}

impl<'a> TaskStatusAnswer<'a> {
    /// Converts `state`.
    pub(crate) fn new(state: &'a proto::TaskState) -> Result<Self, ConversionError> {
        Ok(Self {
            task_name: &state.task_name,
            status: status_of(state)?.as_str(),
            enabled: state.enabled,
            events_url: match state.event_count {
                0 => String::new(),
                _ => format!("/v1/status/tasks/{}?include=events", state.task_name),
            },
            events: state
                .events
                .iter()
                .map(EventObject::new)
                .collect::<Result<_, _>>()?,
            providers: &state.providers,
            services: &state.services,
            hold: state.hold.as_ref(),
            check_error: &state.check_error,
        })
    }

    /// Whether a filter for `status` lets the task through when the request names the task. A task without events
    /// passes every filter (docs/rest.md#task-status).
    pub(crate) fn passes(&self, status: Option<TaskStatus>) -> bool {
        self.events_url.is_empty() || status.is_none_or(|status| status.as_str() == self.status)
    }
}

#[derive(Debug, Serialize)]
struct EventObject<'a> {
    id: &'a str,
    success: bool,
    #[serde(with = "json::time")]
    start_time: Option<Timestamp>,
    #[serde(with = "json::time")]
    end_time: Option<Timestamp>,
    task_name: &'a str,
    /// Sent as `null` on success.
    error: Option<ErrorMessage<'a>>,
    config: EventConfigObject<'a>,
    /// Ours, and so what follows. A tick of a schedule that found nothing new has no run.
    #[serde(skip_serializing_if = "str::is_empty")]
    run_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<ResourceCounts>,
    #[serde(skip_serializing_if = "str::is_empty")]
    remote_url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    requested_by: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cause: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cause_ids: &'a [String],
}

#[derive(Debug, Serialize)]
struct EventConfigObject<'a> {
    providers: &'a [String],
    services: &'a [String],
    source: Cow<'a, str>,
}

impl<'a> EventObject<'a> {
    fn new(event: &'a proto::Event) -> Result<Self, ConversionError> {
        let time = |at: Option<Timestamp>, field| match timestamp_from_wire(at.as_ref()) {
            Some(_) => Ok(at),
            None => Err(ConversionError::Missing { field }),
        };
        Ok(Self {
            id: &event.id,
            success: event.success,
            start_time: time(event.start_time, "Event.start_time")?,
            end_time: time(event.end_time, "Event.end_time")?,
            task_name: &event.task_name,
            error: event
                .error
                .as_deref()
                .map(|message| ErrorMessage { message }),
            config: EventConfigObject {
                providers: &event.providers,
                services: &event.services,
                source: without_secrets(&event.source),
            },
            run_id: &event.run_id,
            resources: event.resources,
            remote_url: &event.remote_url,
            requested_by: &event.requested_by,
            cause: &event.cause,
            cause_ids: &event.cause_ids,
        })
    }
}
