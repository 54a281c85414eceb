//! Tasks in requests (docs/rest.md#task-objects): from bytes to the request to the scheduler.

use cts_core::go::{self, InvalidDuration};
use cts_core::{Condition, InvalidText, ModuleInput, TaskDraft};
use http::{HeaderMap, header};
use serde_json::Value;

use crate::request::document;
use crate::request::run_mode::RunMode;
use crate::request::schema::Mismatch;

mod condition;
mod members;

use members::TaskMembers;

pub(crate) use members::SentMembers;

/// A body that does not match the document. The texts are answers to clients.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidBody {
    #[error("request body has an error: value is required but missing")]
    Missing,
    #[error(
        "request body has an error: header Content-Type has unexpected value {}; a body of JSON needs 'Content-Type: application/json'",
        quoted(.0)
    )]
    ContentType(String),
    #[error("request body has an error: failed to decode request body: {0}")]
    NoJson(String),
    #[error(
        "request body has an error: doesn't match schema #/components/schemas/{schema}: {mismatch}"
    )]
    Schema {
        schema: &'static str,
        mismatch: Mismatch,
    },
    #[error(
        "request body has an error: {count} names of services, at most {limit} are allowed; use a regexp"
    )]
    TooManyNames { count: usize, limit: usize },
    #[error("request body has an error: {0}")]
    Text(#[from] InvalidText),
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A task as a request declares it, and the requested action.
#[derive(Debug, PartialEq)]
pub(crate) struct TaskRequest {
    pub(crate) mode: RunMode,
    pub(crate) task: TaskDraft,
    /// The members that the request has, for answers that show the request.
    pub(crate) sent: SentMembers,
    /// Error of the first time of the buffer period that is not a duration. Everything else is checked before it
    /// is reported.
    pub(crate) bad_duration: Option<InvalidDuration>,
    /// The revision in the body, if the endpoint allows one.
    pub(crate) revision: Option<u64>,
}

impl TaskRequest {
    /// Reads a body against `schema`, which has a member `task`.
    pub(crate) fn read(
        mode: RunMode,
        schema: &'static str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Self, InvalidBody> {
        let mut value = decode(headers, body)?;
        document::schema(schema)
            .check(&mut value)
            .map_err(|mismatch| InvalidBody::Schema { schema, mismatch })?;
        let revision = value["revision"].as_u64();
        members::without_nulls(&mut value["task"]);
        let members: TaskMembers = serde_json::from_value(value["task"].take())
            .map_err(|error| InvalidBody::NoJson(error.to_string()))?;
        let sent = members.sent();
        let bad_duration = members
            .durations()
            .find_map(|text| go::parse_duration(text).err());
        Ok(Self {
            mode,
            task: members.into_draft(),
            sent,
            bad_duration,
            revision,
        })
    }

    /// Refuses a task with more than `limit` names of services, each of which is a lasting query to Consul, and a text
    /// that cannot be passed on.
    pub(crate) fn within_limits(self, limit: usize) -> Result<Self, InvalidBody> {
        let of_condition = match &self.task.condition {
            Condition::Services(services) => services.query.names.len(),
            Condition::NoCondition
            | Condition::CatalogServices(_)
            | Condition::ConsulKv(_)
            | Condition::Schedule(_) => 0,
        };
        let of_inputs = self.task.module_inputs.iter().map(|input| match input {
            ModuleInput::Services(services) => services.names.len(),
            ModuleInput::ConsulKv(_) => 0,
        });
        let count = of_condition + of_inputs.sum::<usize>();
        if count > limit {
            return Err(InvalidBody::TooManyNames { count, limit });
        }
        self.task.check_texts()?;
        Ok(self)
    }
}

/// The first JSON value of `body`; what follows it does not count.
pub(crate) fn decode(headers: &HeaderMap, body: &[u8]) -> Result<Value, InvalidBody> {
    if body.is_empty() {
        return Err(InvalidBody::Missing);
    }
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .map(|value| String::from_utf8_lossy(value.as_bytes()))
        .unwrap_or_default();
    if content_type.split(';').next() != Some("application/json") {
        return Err(InvalidBody::ContentType(content_type.into_owned()));
    }
    let mut values = serde_json::Deserializer::from_slice(body);
    serde::Deserialize::deserialize(&mut values)
        .map_err(|error: serde_json::Error| InvalidBody::NoJson(error.to_string()))
}

#[cfg(test)]
mod tests;
