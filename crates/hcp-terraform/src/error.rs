//! Errors of requests to the API. No text has a token, a signed URL or a query in it.

use std::time::Duration;

use cts_core::InvalidHostname;
use cts_http::InvalidServerName;
use cts_tls::{TlsError, answers_in_plain_text};

use crate::call::Call;
use crate::details::RefusedCall;
use crate::problem::{Failure, ProtocolProblem};

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The host name is not that of a server that is used with HTTPS.
    #[error("the hostname {0}")]
    InvalidHostname(InvalidHostname),
    #[error("the token is empty")]
    EmptyToken,
    /// The token cannot be sent. The message does not show it.
    #[error("the token has characters that no HTTP header can carry")]
    InvalidToken,
    /// The server name cannot be used for SNI.
    #[error(transparent)]
    InvalidServerName(#[from] InvalidServerName),
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The HTTP library refuses the settings.
    #[error("cannot set up the HTTP client")]
    Build(#[source] reqwest::Error),
}

/// A call did not do what it is for.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The token is invalid or expired (401).
    #[error("the server does not accept the token: {0}")]
    Unauthorized(RefusedCall),
    /// The token lacks a right (403). Most servers answer 404 instead.
    #[error("the token has no right to this: {0}")]
    Forbidden(RefusedCall),
    /// Not there, or not visible with this token (404).
    #[error("not there, or not visible with this token: {0}")]
    NotFound(RefusedCall),
    /// Not possible in the present state (409): a run that ended, a lock that is held.
    #[error("not possible in the present state: {0}")]
    Conflict(RefusedCall),
    /// The server does not accept the content of the request (400, 412, 413, 422).
    #[error("the server does not accept the request: {0}")]
    Invalid(RefusedCall),
    /// Any other refusal.
    #[error("the server refuses the request: {0}")]
    Refused(RefusedCall),
    /// A signed URL is not valid, or not any more: the object that named it has a new one.
    #[error("the signed URL is not accepted: {0}")]
    ExpiredUrl(RefusedCall),
    /// The server limits requests, longer than [`crate::Limits::retry_for`] allows to wait.
    #[error("the server limits requests{}: {call}", per_second(*.limit))]
    RateLimited {
        call: Call,
        /// Requests a second that the server allows, if it says so.
        limit: Option<u64>,
        /// Time until the server accepts requests again, by its answer.
        pause: Duration,
    },
    /// The server was not reached, or had a fault, until [`crate::Limits::retry_for`] was over. The request
    /// was not carried out, or may be carried out again.
    #[error("the server is not available: {call}")]
    Unavailable {
        call: Call,
        #[source]
        cause: Failure,
    },
    /// The request may have been carried out: the caller looks before it repeats.
    #[error("the outcome is unknown: {call}")]
    OutcomeUnknown {
        call: Call,
        #[source]
        cause: Failure,
    },
    /// The server's certificate is not accepted, or TLS fails otherwise.
    #[error("cannot set up TLS with {}{}: {call}", call.host, plain_text(.source))]
    Tls {
        call: Call,
        #[source]
        source: reqwest::Error,
    },
    /// The answer is not one of this API.
    #[error("the answer cannot be used: {call}")]
    Protocol {
        call: Call,
        #[source]
        problem: ProtocolProblem,
    },
    /// A name or id cannot be a part of a path.
    #[error("the name {name:?} cannot be a part of a path of the API")]
    InvalidName { name: String },
}

impl ApiError {
    /// Whether the same call may work later without any change: the server is away, or limits requests.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Unavailable { .. })
    }

    /// The refusal, if the server refused.
    pub const fn refusal(&self) -> Option<&RefusedCall> {
        match self {
            Self::Unauthorized(refusal)
            | Self::Forbidden(refusal)
            | Self::NotFound(refusal)
            | Self::Conflict(refusal)
            | Self::Invalid(refusal)
            | Self::Refused(refusal)
            | Self::ExpiredUrl(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// `None` in place of [`ApiError::NotFound`].
    pub(crate) fn missing<T>(result: Result<T, Self>) -> Result<Option<T>, Self> {
        match result {
            Err(Self::NotFound(_)) => Ok(None),
            result => result.map(Some),
        }
    }
}

fn per_second(limit: Option<u64>) -> String {
    limit.map_or_else(String::new, |limit| format!(" ({limit} a second)"))
}

fn plain_text(error: &reqwest::Error) -> &'static str {
    if answers_in_plain_text(error) {
        ", which answers in plain HTTP"
    } else {
        ""
    }
}
