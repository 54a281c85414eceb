//! Answers that replace the requested answer (docs/rest.md#error-bodies).
//!
//! Causes inside are logged here, once, and not sent.

use std::fmt::Display;

use axum::response::{IntoResponse as _, Response};
use cts_core::ErrorCode;
use cts_core::callers::VALUES_HIDDEN;
use cts_listen::{ForeignRequest, LimitReached};
use http::{HeaderValue, Method, StatusCode, header};

use crate::body::BodyError;
use crate::json;
use crate::model::{CodedError, ErrorAnswer};
use crate::request::approval_body::InvalidApproval;
use crate::request::cancel_body::CancelBodyError;
use crate::request::parameters::ParameterError;
use crate::request::query::QueryError;
use crate::request::release_body::ReleaseBodyError;
use crate::request::run_mode::RunModeError;
use crate::request::state_decision::InvalidDecision;
use crate::request::task_request::InvalidBody;
use crate::request::update_body::UpdateBodyError;
use crate::request_id::RequestId;
use crate::route::MissingEndpoint;
use crate::scheduler_client::{CallError, NO_SCHEDULER, chain};

pub(crate) mod declined;
mod lookups;

/// Seconds after which a retry may succeed.
pub(crate) const RETRY_AFTER: &str = "5";

/// The two families of endpoints, by their error bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// The new family, with the request's id.
    New(RequestId),
    /// Without.
    Legacy,
}

/// An error with a body of its family.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    code: ErrorCode,
    status: StatusCode,
    message: String,
    closes: bool,
    /// Whether a retry may soon succeed.
    passes: bool,
    /// Why access is refused, for the audit records; clients hear the message.
    refusal: Option<String>,
    /// Error of a service behind the gateway, for the log.
    cause: Option<Cause>,
}

/// Why a service behind the gateway gave no answer.
#[derive(Debug, PartialEq, Eq)]
struct Cause {
    error: String,
    /// The connections to the schedulers, or the scheduler about its database, have a line for the outage.
    is_outage: bool,
}

impl Problem {
    fn new(code: ErrorCode, status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            code,
            status,
            message: message.into(),
            closes: false,
            passes: false,
            refusal: None,
            cause: None,
        }
    }

    fn refused(
        code: ErrorCode,
        status: StatusCode,
        message: impl Into<String>,
        reason: &str,
    ) -> Self {
        Self {
            refusal: Some(reason.to_owned()),
            ..Self::new(code, status, message)
        }
    }

    /// The request has no credential that is accepted. The text is the same for all reasons.
    pub(crate) fn unauthenticated(reason: &str) -> Self {
        let message = "this request needs a valid token or client certificate";
        Self::refused(
            ErrorCode::Unauthenticated,
            StatusCode::UNAUTHORIZED,
            message,
            reason,
        )
    }

    /// The credential gives no right to the request. The text is the same for all reasons.
    pub(crate) fn forbidden(reason: &str) -> Self {
        let message =
            "the credential does not allow this request: its role or its tasks do not include it";
        Self::refused(ErrorCode::Forbidden, StatusCode::FORBIDDEN, message, reason)
    }

    /// The caller may not see the values of plans.
    pub(crate) fn values_are_hidden() -> Self {
        let (code, status) = (ErrorCode::Forbidden, StatusCode::FORBIDDEN);
        Self::refused(code, status, VALUES_HIDDEN, VALUES_HIDDEN)
    }

    /// Audit records are for admins, and without authentication there are none.
    pub(crate) fn audit_needs_authentication() -> Self {
        let message = "the audit records need authentication (security.require_auth)";
        Self::refused(
            ErrorCode::Forbidden,
            StatusCode::FORBIDDEN,
            message,
            message,
        )
    }

    /// No scheduler has sent the tokens or the sessions yet, so that none can be checked.
    pub(crate) fn not_known_yet(what: &str) -> Self {
        Self {
            passes: true,
            ..Self::new(
                ErrorCode::NoScheduler,
                StatusCode::SERVICE_UNAVAILABLE,
                format!("the {what} are not known yet"),
            )
        }
    }

    /// Too many requests are in progress; `what` names the requests of their kind (docs/rest.md#limits).
    pub(crate) fn crowded(why: LimitReached, what: &str) -> Self {
        let (status, who) = match why {
            LimitReached::Total => (StatusCode::SERVICE_UNAVAILABLE, "all clients together have"),
            LimitReached::Client => (StatusCode::TOO_MANY_REQUESTS, "this client has"),
        };
        Self {
            passes: true,
            ..Self::new(
                ErrorCode::TooManyRequests,
                status,
                format!("{who} too many {what} in progress"),
            )
        }
    }

    /// The cluster endpoint is called without high availability.
    pub(crate) fn no_cluster() -> Self {
        Self::new(
            ErrorCode::MethodNotAllowed,
            StatusCode::METHOD_NOT_ALLOWED,
            "this endpoint is only available with high availability configured",
        )
    }

    /// The client's request is not as expected.
    pub(crate) fn bad_request(cause: &dyn Display) -> Self {
        Self::new(
            ErrorCode::RequestInvalid,
            StatusCode::BAD_REQUEST,
            cause.to_string(),
        )
    }

    /// The body of the request cannot be read. `otherwise` is the status for all errors except a body that is
    /// too large (docs/rest.md#transport). The connection ends if a part of the body was not read.
    pub(crate) fn without_body(error: &BodyError, otherwise: StatusCode) -> Self {
        let (code, status) = match error {
            BodyError::Crowded(why) => {
                return Self {
                    closes: true,
                    ..Self::crowded(*why, "bytes of request bodies")
                };
            }
            BodyError::TooLarge(_) => (ErrorCode::RequestTooLarge, StatusCode::PAYLOAD_TOO_LARGE),
            BodyError::TooSlow | BodyError::Broken(_) => (ErrorCode::RequestInvalid, otherwise),
        };
        Self {
            closes: true,
            ..Self::new(code, status, error.to_string())
        }
    }

    /// A browser sent the request for a page of another site.
    pub(crate) fn foreign(request: &ForeignRequest) -> Self {
        let code = match request {
            ForeignRequest::Host(_) => ErrorCode::ForeignHost,
            ForeignRequest::Origin(_) | ForeignRequest::Elsewhere(_) => ErrorCode::ForeignOrigin,
        };
        let message = request.to_string();
        Self::refused(code, StatusCode::FORBIDDEN, &message, &message)
    }

    fn unknown_task(name: &str) -> Self {
        Self::new(
            ErrorCode::TaskUnknown,
            StatusCode::NOT_FOUND,
            format!("a task with name '{name}' does not exist or has not been initialized yet"),
        )
    }

    /// There is a task of this name already.
    pub(crate) fn task_exists(name: &str) -> Self {
        Self::new(
            ErrorCode::TaskExists,
            StatusCode::BAD_REQUEST,
            format!("task with name {name} already exists"),
        )
    }

    /// A replica that does not lead got a request that only the leader serves.
    pub(crate) fn not_the_leader(message: String) -> Self {
        Self::new(ErrorCode::NotTheLeader, StatusCode::BAD_REQUEST, message)
    }

    /// A call of the scheduler has failed.
    fn failed(error: &CallError) -> Self {
        let cause = Cause {
            error: chain(error),
            is_outage: error.is_unavailable(),
        };
        Self {
            cause: Some(cause),
            ..Self::of_failed_call(error)
        }
    }

    /// Logs the cause inside, if any, for the request with this id.
    pub(crate) fn log(&self, id: RequestId) {
        let Some(Cause { error, is_outage }) = &self.cause else {
            return;
        };
        if *is_outage {
            tracing::debug!(request_id = %id, error, "cannot answer a request");
        } else {
            // As a string, so that the text is quoted whatever a service put into its message.
            tracing::error!(request_id = %id, error, "cannot answer a request");
        }
    }

    /// No scheduler can answer.
    pub(crate) fn without_scheduler() -> Self {
        Self::new(
            ErrorCode::NoScheduler,
            StatusCode::SERVICE_UNAVAILABLE,
            NO_SCHEDULER,
        )
    }

    /// Whether no scheduler could answer, so that the reason for [`Self::because`] is missing.
    pub(crate) fn is_without_scheduler(&self) -> bool {
        self.code == ErrorCode::NoScheduler
    }

    /// The problem with this reason in place of its message.
    pub(crate) fn because(self, reason: String) -> Self {
        Self {
            message: reason,
            ..self
        }
    }

    /// The error of a call that has been logged.
    pub(crate) fn of_failed_call(error: &CallError) -> Self {
        if let CallError::TooLarge { .. } = error {
            Self::new(
                ErrorCode::AnswerTooLarge,
                StatusCode::INTERNAL_SERVER_ERROR,
                error.to_string(),
            )
        } else if error.is_unavailable() {
            Self::without_scheduler()
        } else {
            Self::new(
                ErrorCode::Internal,
                StatusCode::INTERNAL_SERVER_ERROR,
                "the request failed because of an internal error",
            )
        }
    }

    /// No scheduler can do its work, for this reason.
    pub(crate) fn unfit(cause: &str) -> Self {
        Self::new(
            ErrorCode::NotHealthy,
            StatusCode::SERVICE_UNAVAILABLE,
            format!("CTS is not healthy: {cause}"),
        )
    }

    /// Why access is refused; `None` for other problems.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// The stable code.
    pub(crate) const fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// The status of its answer.
    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// The text for the client.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn answer(&self, family: Family) -> Response {
        let body = ErrorAnswer {
            error: CodedError {
                message: &self.message,
                code: self.code.as_str(),
            },
            request_id: match family {
                Family::New(id) => Some(id),
                Family::Legacy => None,
            },
        };
        let mut answer = json::answer(self.status, &body);
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Bearer");
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, challenge);
        }
        if self.closes {
            let close = HeaderValue::from_static("close");
            answer.headers_mut().insert(header::CONNECTION, close);
        }
        if self.passes {
            let after = HeaderValue::from_static(RETRY_AFTER);
            answer.headers_mut().insert(header::RETRY_AFTER, after);
        }
        answer
    }
}

macro_rules! bad_requests {
    ($($error:ty),+) => {$(
        impl From<$error> for Problem {
            fn from(error: $error) -> Self {
                Self::bad_request(&error)
            }
        }
    )+};
}

bad_requests!(
    CancelBodyError,
    InvalidApproval,
    InvalidBody,
    InvalidDecision,
    ParameterError,
    QueryError,
    ReleaseBodyError,
    RunModeError,
    UpdateBodyError
);

/// The answer to a request that the API does not have.
pub(crate) fn refuse(refusal: &MissingEndpoint, method: &Method) -> Response {
    let legacy = |status, message: String| {
        let code = match status {
            StatusCode::METHOD_NOT_ALLOWED => ErrorCode::MethodNotAllowed,
            _ => ErrorCode::RequestInvalid,
        };
        Problem::new(code, status, message).answer(Family::Legacy)
    };
    match refusal {
        MissingEndpoint::UnknownMethod => empty_method_not_allowed(),
        MissingEndpoint::OnlyGet => ([(header::ALLOW, "GET")], empty_method_not_allowed()).into_response(),
        MissingEndpoint::OnlyPost => {
            ([(header::ALLOW, "POST")], empty_method_not_allowed()).into_response()
        }
        MissingEndpoint::OnlyGetAndPost => {
            ([(header::ALLOW, "GET, POST")], empty_method_not_allowed()).into_response()
        }
        MissingEndpoint::UnknownPath => {
            let headers = [
                (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
                (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            ];
            (StatusCode::NOT_FOUND, headers, "404 page not found\n").into_response()
        }
        MissingEndpoint::Method { api, supported } => legacy(
            StatusCode::METHOD_NOT_ALLOWED,
            format!(
                "'{method}' in an unsupported method. The {api} API currently supports the method(s): '{supported}'"
            ),
        ),
        MissingEndpoint::UnsupportedPath(path) => legacy(
            StatusCode::BAD_REQUEST,
            format!(
                "unsupported path '{path}'. request must be format 'path/{{task-name}}'. a task name is one path segment"
            ),
        ),
        MissingEndpoint::NoTaskName => legacy(
            StatusCode::BAD_REQUEST,
            "no task name was included in the api request. Updating a task requires the task name: \
             '/v1/tasks/:task_name'"
                .to_owned(),
        ),
    }
}

fn empty_method_not_allowed() -> Response {
    StatusCode::METHOD_NOT_ALLOWED.into_response()
}
