//! Errors of requests to Consul.

use cts_core::{Absence, InvalidFilter, absence, plain_reason};
use cts_http::InvalidServerName;
use cts_tls::{TlsError, answers_in_plain_text};

/// The settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The address has a scheme that Consul is not reached by.
    #[error("unknown protocol scheme: {scheme}")]
    UnknownScheme { scheme: String },
    /// The address is invalid. The message omits the address, because it may hold a password.
    #[error("the address of Consul has no host, or holds user information")]
    InvalidAddress,
    /// The address cannot be made a URL.
    #[error("the address of Consul is no part of a URL")]
    InvalidUrl(#[source] <reqwest::Url as std::str::FromStr>::Err),
    /// The server name cannot be used for SNI.
    #[error(transparent)]
    InvalidServerName(#[from] InvalidServerName),
    /// A value cannot be sent in a header. The message omits the value, because it is secret.
    #[error("the {what} has characters that no HTTP header can carry")]
    InvalidHeader {
        /// The unusable value.
        what: &'static str,
        #[source]
        source: reqwest::header::InvalidHeaderValue,
    },
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The HTTP library refuses the settings.
    #[error("cannot set up the HTTP client for Consul")]
    Build(#[source] reqwest::Error),
}

/// An older Consul (1.8) refuses a filter with status 500 and this text.
const OLD_FILTER_REFUSAL: &str = "Failed to create boolean expression evaluator";

/// Status 500: the datacenter is unknown, or cannot be reached.
const NO_PATH: &str = "No path to datacenter";

/// A request to Consul brought no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum ConsulError {
    /// The answer is missing or incomplete.
    #[error("cannot reach consul{}", plain_text(.0))]
    Transport(#[source] reqwest::Error),
    /// Consul refused the request. The text equals the text that the original logs.
    #[error("{}Unexpected response code: {status} ({body})", missing_acl(*status))]
    Status {
        status: u16,
        /// The beginning of the body, without space around.
        body: String,
    },
    /// The answer is not the documented JSON.
    #[error("cannot decode the answer of consul")]
    Decode(#[source] serde_json::Error),
    /// The answer does not end where any answer should have.
    #[error("the answer of consul is longer than {limit} bytes")]
    TooLong {
        /// Most bytes that are read.
        limit: usize,
    },
    /// Consul does not send such an answer to a query: the answer holds no data.
    #[error("the answer cannot be one of consul: {problem}")]
    NoAnswer {
        /// Reason why Consul cannot have sent the answer.
        problem: &'static str,
    },
    /// The server that answered has no leader, so its answer may be old.
    #[error("consul answers without a leader of its cluster")]
    NoLeader,
    /// The name cannot be a part of a URL's path, so no request to Consul can contain the name.
    #[error("consul cannot be asked for the name {name:?}")]
    UnusableName {
        /// The name of a service, or a key.
        name: String,
    },
    /// The filter is not sent, because it would keep Consul busy or is no expression.
    #[error("the filter is not sent to consul: {0}")]
    UnusableFilter(InvalidFilter),
    /// The value of a key cannot be used.
    #[error("the value of key {key:?} {problem}")]
    UnusableValue {
        key: String,
        /// Problem of the value.
        problem: &'static str,
    },
}

/// The reason, if the token has too few rights.
const fn missing_acl(status: u16) -> &'static str {
    match status {
        403 => "missing required Consul ACL: ",
        _ => "",
    }
}

/// The remedy, if the server does not speak TLS.
fn plain_text(error: &reqwest::Error) -> &'static str {
    if answers_in_plain_text(error) {
        ", which answers in plain HTTP: the address should begin with http://, and no TLS should be set"
    } else {
        ""
    }
}

impl ConsulError {
    /// The message with all its causes, for a log line or an operator.
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    /// The cause in words for an operator, without the parts of libraries on the way to it.
    pub fn plain_reason(&self) -> String {
        match self {
            Self::Transport(error) if answers_in_plain_text(error) => self.report(),
            Self::Transport(error) if error.is_timeout() => "no answer in time".to_owned(),
            Self::Transport(error) => plain_reason(error),
            _ => self.report(),
        }
    }

    /// Whether Consul understood the request and refused it, so that waiting for data is useless until the task, the
    /// token or Consul changes.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Status { status: 403, .. } => true,
            Self::Status { body, .. } if body.contains(NO_PATH) => true,
            _ => self.is_rejection(),
        }
    }

    /// Returns whether other queries to the same Consul fail for the same reason, so that the first answered query
    /// shows the end of the outage to all queries. False for an error of one query, and for a Consul that limits
    /// requests.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Transport(_) | Self::Decode(_) | Self::NoAnswer { .. } | Self::NoLeader => true,
            Self::Status { status, .. } => *status >= 500 && !self.is_refusal(),
            Self::TooLong { .. }
            | Self::UnusableName { .. }
            | Self::UnusableFilter(_)
            | Self::UnusableValue { .. } => false,
        }
    }

    /// Whether the connection ended before an answer, or a proxy answered for a server that is silent or whose
    /// connection ended.
    pub(crate) fn is_cut(&self) -> bool {
        match self {
            Self::Transport(error) => {
                error.is_request() && !error.is_connect() && !error.is_timeout()
            }
            Self::Status { status, .. } => matches!(status, 408 | 502..=504),
            _ => false,
        }
    }

    /// Returns whether no process answers at the address of Consul, or no server that could answer queries: Consul may
    /// be starting. `None` if Consul has answered, or TLS has failed.
    pub fn absence(&self) -> Option<Absence> {
        match self {
            Self::Transport(error) if error.is_timeout() => Some(Absence::Silent),
            Self::Transport(error) => absence(error),
            Self::NoLeader => Some(Absence::Silent),
            Self::Status { status, .. } if *status >= 500 && !self.is_refusal() => {
                Some(Absence::Silent)
            }
            _ => None,
        }
    }

    /// Whether the request itself is at fault, so that a retry is useless: a filter that Consul does not accept, an
    /// impossible name.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Status { status, body } => *status == 400 || body.contains(OLD_FILTER_REFUSAL),
            Self::UnusableName { .. } | Self::UnusableFilter(_) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_one_query_are_no_outage() {
        let status = |status, body: &str| ConsulError::Status {
            status,
            body: body.to_owned(),
        };
        for error in [
            status(500, "No cluster leader"),
            status(502, "<html>"),
            ConsulError::NoLeader,
            ConsulError::NoAnswer { problem: "" },
        ] {
            assert!(error.is_outage(), "{error}");
        }
        for error in [
            status(500, NO_PATH),
            status(500, OLD_FILTER_REFUSAL),
            status(429, "too many requests"),
            status(403, "Permission denied"),
            status(400, "Invalid filter"),
            ConsulError::TooLong { limit: 1 },
        ] {
            assert!(!error.is_outage(), "{error}");
        }
    }
}
