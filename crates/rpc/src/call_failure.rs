//! Failed calls in words for an operator.

use std::error::Error as _;
use std::fmt;

use cts_core::plain_reason;
use tonic::Status;

/// Shows why a call failed: the innermost cause, or else the message of the server. The text of a status itself has its
/// code and the debug text of all causes.
#[derive(Debug)]
pub struct CallFailure<'a>(pub &'a Status);

impl fmt::Display for CallFailure<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.0;
        match status.source() {
            Some(cause) => f.write_str(&plain_reason(cause)),
            None if status.message().is_empty() => f.write_str(status.code().description()),
            None => f.write_str(status.message()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("transport error")]
    struct Transport(#[source] io::Error);

    #[test]
    fn the_innermost_cause_counts_before_the_message_and_the_code() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        for (status, text) in [
            (
                Status::from_error(Box::new(Transport(refused))),
                "connection refused",
            ),
            (Status::unavailable("no leader"), "no leader"),
            (Status::unknown(""), "Unknown error"),
        ] {
            assert_eq!(CallFailure(&status).to_string(), text);
        }
    }
}
