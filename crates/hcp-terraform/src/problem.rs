//! Reasons why an answer is of no use.

use crate::details::{Detail, joined};

/// A request has no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The connection failed, or the answer is not complete.
    #[error("the answer is missing or incomplete")]
    Transport(#[source] reqwest::Error),
    /// The server, or something before it, reports a fault of its own.
    #[error("the answer has status {status}{}", joined(details))]
    Status {
        /// HTTP status.
        status: u16,
        /// Errors that the server reports.
        details: Vec<Detail>,
    },
    /// The answer is not one of this API.
    #[error(transparent)]
    Protocol(ProtocolProblem),
}

/// An answer is not one of this API.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolProblem {
    /// The answer is longer than any should be.
    #[error("the answer is longer than {limit} bytes")]
    TooLong {
        /// Most bytes that are read.
        limit: usize,
    },
    /// The answer is not the documented JSON.
    #[error("the answer is not the documented JSON: {problem}")]
    Decode {
        /// The complaint, without control characters.
        problem: String,
    },
    /// The answer has a status without a meaning for this request.
    #[error("the answer has the unexpected status {0}")]
    Status(u16),
    /// A redirection is not followed.
    #[error("the answer is a redirection {0}")]
    Redirect(&'static str),
    /// The host has no API of this kind, or not under this name.
    #[error("the discovery document of the host names no usable service tfe.v2")]
    NoService,
    /// A signed URL is not a URL, or not one of https.
    #[error("the server names a signed URL that is not an https URL")]
    SignedUrl,
    /// The pages of a list do not end.
    #[error("the pages of the list do not end")]
    EndlessPages,
}
