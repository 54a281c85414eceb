//! Everything that is answered instead of what was asked for (spec/api.md 2 and 3, "Error bodies").
//!
//! Causes inside are logged here, once, and not sent.

use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode, header};

use crate::ask::AskError;
use crate::json;
use crate::model::{ErrorAnswer, ErrorMessage};
use crate::query::QueryError;
use crate::request_log::RequestId;
use crate::routes::Refusal;

const NO_SCHEDULER: &str = "no scheduler is available";

/// The two families of endpoints, by their error bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// With the request's id.
    New(RequestId),
    /// Without.
    Legacy,
}

/// An error with a body of its family.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    status: StatusCode,
    message: String,
}

impl Problem {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    /// There is no cluster to ask about.
    pub(crate) fn no_cluster() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this endpoint is only available with high availability configured",
        )
    }

    /// An endpoint that is not served yet.
    pub(crate) fn read_only() -> Self {
        Self::new(
            StatusCode::NOT_IMPLEMENTED,
            "changing tasks over the API is not supported yet",
        )
    }

    /// A replica that does not lead was asked for what only the leader does.
    pub(crate) fn not_the_leader(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// What the scheduler did not answer about all tasks, or about the one of this name.
    pub(crate) fn unanswered(error: &AskError, name: Option<&str>, id: RequestId) -> Self {
        if let (AskError::NoSuchTask, Some(name)) = (error, name) {
            return Self::new(
                StatusCode::NOT_FOUND,
                format!("a task with name '{name}' does not exist or has not been initialized yet"),
            );
        }
        // As a string, so that a quoted text comes from it whatever a service put into its message.
        tracing::error!(request_id = %id, error = error.chain(), "cannot answer a request");
        Self::of_failed_call(error)
    }

    /// The same about an error that has been logged.
    pub(crate) fn of_failed_call(error: &AskError) -> Self {
        if error.is_unavailable() {
            Self::new(StatusCode::SERVICE_UNAVAILABLE, NO_SCHEDULER)
        } else {
            Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the request failed because of an internal error",
            )
        }
    }

    /// The scheduler's answer that would have shown its health is this error, which has been logged.
    pub(crate) fn unhealthy(error: &AskError) -> Self {
        let cause = if error.is_unavailable() {
            NO_SCHEDULER
        } else {
            "the scheduler failed because of an internal error"
        };
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("CTS is not healthy: {cause}"),
        )
    }

    /// The answer.
    pub(crate) fn answer(&self, family: Family) -> Response {
        let body = ErrorAnswer {
            error: ErrorMessage {
                message: &self.message,
            },
            request_id: match family {
                Family::New(id) => Some(id),
                Family::Legacy => None,
            },
        };
        json::answer(self.status, &body)
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error.to_string())
    }
}

/// The answer to a request that is none of the API's.
pub(crate) fn refuse(refusal: &Refusal, method: &Method) -> Response {
    let legacy = |status, message: String| Problem::new(status, message).answer(Family::Legacy);
    match refusal {
        Refusal::UnknownMethod => empty_method_not_allowed(),
        Refusal::OnlyGet => ([(header::ALLOW, "GET")], empty_method_not_allowed()).into_response(),
        Refusal::UnknownPath => {
            let headers = [
                (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            ];
            (StatusCode::NOT_FOUND, headers, "404 page not found\n").into_response()
        }
        Refusal::Method { supported } => legacy(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("unsupported method '{method}', the only supported method is '{supported}'"),
        ),
        Refusal::UnsupportedPath(path) => legacy(
            StatusCode::BAD_REQUEST,
            format!("unsupported path '{path}', a task name is one path segment"),
        ),
        Refusal::NoTaskName => legacy(StatusCode::BAD_REQUEST, "no task name".to_owned()),
    }
}

fn empty_method_not_allowed() -> Response {
    StatusCode::METHOD_NOT_ALLOWED.into_response()
}
