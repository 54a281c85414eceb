//! Errors of calls, and their texts for display.

use std::error::Error;
use std::io;

use cts_tls::{TlsError, answers_in_plain_text, causes, go_words};
use tokio_rustls::rustls;

use crate::address::AddressError;
use crate::token::TokenError;

/// Longest body of an answer that is shown to a person, in characters.
const BODY_SHOWN: usize = 2_000;

const NO_CREDENTIAL: &str =
    "give a valid token with -token-file or CTS_TOKEN, or a client certificate with a role";

const NO_AUTH: &str =
    "the server requires no credentials, so it keeps no audit records: see docs/access.md";

const NO_RIGHT: &str = "name another token with -token-file or CTS_TOKEN: one with the role that this needs, and for this task";

/// A client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A client certificate was named, but no key.
    #[error(
        "a client certificate is of use only with its key: give -client-key or CTS_CLIENT_KEY too"
    )]
    CertificateWithoutKey,
    /// A key was named, but no client certificate.
    #[error(
        "a client key is of use only with its certificate: give -client-cert or CTS_CLIENT_CERT too"
    )]
    KeyWithoutCertificate,
    /// A file of TLS cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The address cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The HTTP library refuses the settings.
    #[error("cannot set up the HTTP client")]
    Build(#[source] reqwest::Error),
}

/// A request brought no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer, or not all of it.
    #[error("no answer from the API at {address}")]
    Transport {
        /// Where it was asked, without user name and password.
        address: String,
        /// Whether TLS was to be spoken there.
        secure: bool,
        /// The server's reason for ending the connection, if it gave one only when it was connected to again.
        alert: Option<io::Error>,
        #[source]
        source: reqwest::Error,
    },
    /// The API refuses the call. Displayed in [`ErrorForm::New`].
    #[error("{}", .0.text(ErrorForm::New))]
    Refused(ErrorResponse),
    /// A proxy sends the request elsewhere, in a way that would change it.
    #[error("the API at {address} redirects to {location} (status {status}); ask there")]
    Redirected {
        /// Where it was asked.
        address: String,
        /// Where it should be asked.
        location: String,
        status: u16,
    },
    /// The answer says success, but is not what the API answers.
    #[error("the answer of {address} is not one of the API; it begins {beginning:?}")]
    Decode {
        /// Where it came from.
        address: String,
        beginning: String,
        #[source]
        source: serde_json::Error,
    },
    /// The answer says success, but something is missing in it.
    #[error("{what} is missing in the answer of the API at {address}")]
    Lacking {
        /// Where it came from.
        address: String,
        /// The missing part.
        what: &'static str,
    },
    /// The answer is longer than any of the API.
    #[error("the answer of {address} is longer than {limit} MiB")]
    TooLarge {
        /// Where it came from.
        address: String,
        /// Longest that is read, in MiB.
        limit: usize,
    },
    /// No task can have this name, so nothing was asked.
    #[error("{name:?} cannot be the name of a task")]
    UnusableName { name: String },
}

/// How a refusal is shown. The original has two forms (docs/cli.md#cts-task).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorForm {
    /// `request returned 500 status code with error: …`, for changes of existing tasks.
    Legacy,
    /// `500 Internal Server Error: …, see logs for more details (Request ID: …)`, for everything else.
    New,
}

/// An answer whose status is not a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorResponse {
    pub status: u16,
    /// Its name in HTTP; empty for a status that has none.
    pub reason: &'static str,
    /// The API's message, if the body is an error of the API.
    pub message: Option<String>,
    /// Stable code, if the server gave one.
    pub code: Option<String>,
    /// Id under which the server has logged it, if it gave one.
    pub request_id: Option<String>,
    /// The body as it came.
    pub body: String,
}

impl ErrorResponse {
    /// For a person.
    pub fn text(&self, form: ErrorForm) -> String {
        let status = format!("{} {}", self.status, self.reason);
        let status = status.trim_end();
        let body = beginning(self.body.trim(), BODY_SHOWN);
        let said = self.message.as_ref().unwrap_or(&body);
        match form {
            ErrorForm::Legacy => {
                let said = if said.is_empty() { self.reason } else { said };
                let code = self.status;
                format!("request returned {code} status code with error: {said}")
            }
            ErrorForm::New if said.is_empty() => status.to_owned(),
            ErrorForm::New => match (&self.message, &self.request_id) {
                (Some(message), Some(id)) => {
                    format!("{status}: {message}, see logs for more details (Request ID: {id})")
                }
                _ => format!("{status}: {said}"),
            },
        }
    }
}

/// The first characters of `text`.
pub(crate) fn beginning(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

impl CallError {
    /// Everything a person needs: what happened and its deepest cause, a refusal in the given form.
    pub fn report(&self, form: ErrorForm) -> String {
        match self {
            Self::Refused(refusal) => refusal.text(form),
            Self::Transport { alert, source, .. } => {
                let fault: &(dyn Error + 'static) = match alert {
                    Some(alert) => alert,
                    None => source,
                };
                let cause = deepest(fault).unwrap_or_else(|| fault.to_string());
                match go_words(fault) {
                    Some(words) => format!("{self}: {words} ({cause})"),
                    None => format!("{self}: {cause}"),
                }
            }
            other => match deepest(other) {
                Some(cause) => format!("{other}: {cause}"),
                None => other.to_string(),
            },
        }
    }

    /// The stable code of a refusal, if the server gave one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.code.as_deref(),
            _ => None,
        }
    }

    /// Advice that may help, if the cause is a usual mistake.
    pub fn hint(&self) -> Option<&'static str> {
        let (secure, source) = match self {
            Self::Transport { secure, source, .. } => (secure, source),
            Self::Refused(ErrorResponse { status: 401, .. }) => return Some(NO_CREDENTIAL),
            Self::Refused(refusal) if refusal.status == 403 => {
                let message = refusal.message.as_deref().unwrap_or_default();
                let is_setting = message.contains("security.require_auth");
                return Some(if is_setting { NO_AUTH } else { NO_RIGHT });
            }
            _ => return None,
        };
        if *secure {
            return answers_in_plain_text(source).then_some(
                "the server may not speak HTTPS: try an address that begins with http://",
            );
        }
        has_cause(source, is_closed_connection)
            .then_some("client may have sent an HTTP request to an HTTPS server: try an address that begins with https://")
    }

    /// Whether a connection that was to be secure has ended, and nothing of that gives a reason.
    pub(crate) fn is_unexplained_end(&self) -> bool {
        let Self::Transport { secure, source, .. } = self else {
            return false;
        };
        let is_refused = |cause: &(dyn Error + 'static)| {
            let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
            kind == Some(io::ErrorKind::ConnectionRefused)
        };
        let is_explained = source.is_timeout()
            || has_cause(source, is_refused)
            || has_cause(source, <dyn Error>::is::<rustls::Error>);
        *secure && !is_explained
    }

    /// Whether the server does not have the endpoint: an earlier version, or another program with this API.
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status == 404 && refusal.message.is_none())
    }

    /// Whether the task does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            Self::Refused(ErrorResponse {
                status: 404,
                message: Some(_),
                ..
            })
        )
    }

    /// Whether the call took effect, and the run that followed failed (docs/api.md#tasks).
    pub fn is_failed_run(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status == 422)
    }

    /// Whether what the request is about has changed since it was read.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.status == 409)
    }

    /// Whether the task could not be changed only because it is at work (docs/rest.md#updating-a-task).
    pub fn is_busy(&self) -> bool {
        let Self::Refused(ErrorResponse {
            status: 500,
            message: Some(message),
            ..
        }) = self
        else {
            return false;
        };
        message.contains("is active and cannot be updated")
    }
}

/// Whether the server has ended the connection instead of answering in HTTP.
fn is_closed_connection(cause: &(dyn Error + 'static)) -> bool {
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return error.is_incomplete_message() || error.is_parse() || error.is_closed();
    }
    let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(
        kind,
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
    )
}

fn has_cause(
    error: &(dyn Error + 'static),
    is_it: impl Fn(&(dyn Error + 'static)) -> bool,
) -> bool {
    causes(error).any(is_it)
}

fn deepest(error: &(dyn Error + 'static)) -> Option<String> {
    causes(error).last().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(message: Option<&str>, id: Option<&str>, body: &str) -> ErrorResponse {
        ErrorResponse {
            status: 404,
            reason: "Not Found",
            message: message.map(str::to_owned),
            code: None,
            request_id: id.map(str::to_owned),
            body: body.to_owned(),
        }
    }

    #[test]
    fn a_refusal_has_two_forms() {
        let cases = [
            (
                refusal(Some("no such task"), Some("71a5b3b0"), "{}"),
                "404 Not Found: no such task, see logs for more details (Request ID: 71a5b3b0)",
                "request returned 404 status code with error: no such task",
            ),
            (
                refusal(Some("no such task"), None, "{}"),
                "404 Not Found: no such task",
                "request returned 404 status code with error: no such task",
            ),
            (
                refusal(None, None, "404 page not found\n"),
                "404 Not Found: 404 page not found",
                "request returned 404 status code with error: 404 page not found",
            ),
            (
                refusal(None, None, ""),
                "404 Not Found",
                "request returned 404 status code with error: Not Found",
            ),
        ];
        for (refusal, new, legacy) in cases {
            assert_eq!(refusal.text(ErrorForm::New), new);
            assert_eq!(refusal.text(ErrorForm::Legacy), legacy);
        }
    }

    #[test]
    fn a_token_is_no_remedy_for_records_that_do_not_exist() {
        let hint = |message| {
            let refusal = refusal(Some(message), None, "");
            let refused = CallError::Refused(ErrorResponse {
                status: 403,
                ..refusal
            });
            refused.hint().unwrap()
        };
        assert!(hint("the credential does not allow this").contains("another token"));
        let off = hint("the audit records need authentication (security.require_auth)");
        assert!(!off.contains("token"), "{off}");
    }

    #[test]
    fn a_long_body_is_cut() {
        let text = refusal(None, None, &"é".repeat(5_000)).text(ErrorForm::New);
        assert_eq!(text.chars().count(), "404 Not Found: ".len() + 2_001);
    }

    #[test]
    fn a_missing_page_is_no_missing_task() {
        assert!(CallError::Refused(refusal(Some("no"), None, "")).is_not_found());
        assert!(!CallError::Refused(refusal(None, None, "404 page not found")).is_not_found());
    }

    #[test]
    fn only_a_task_at_work_is_busy() {
        let active = "task 'web' is active and cannot be updated at this time";
        let mut refusal = refusal(Some(active), None, "");
        assert!(!CallError::Refused(refusal.clone()).is_busy());
        refusal.status = 500;
        assert!(CallError::Refused(refusal.clone()).is_busy());
        refusal.message = Some("terraform failed".to_owned());
        assert!(!CallError::Refused(refusal).is_busy());
    }
}
