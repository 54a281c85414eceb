//! Unreachable servers, as found in the errors of their clients.

use std::error::Error;
use std::io::{self, ErrorKind};

/// The text of an error of the system's resolver, which has no error kind.
const LOOKUP: &str = "failed to lookup address information";

/// Reason of a call that timed out.
pub const NO_ANSWER: &str = "no answer in time";

/// Reason for which no server has answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// Nothing answers at the address: the server may be starting, or a network is down.
    Silent,
    /// The name cannot be resolved: it may be misspelt.
    Unresolved,
}

/// Whether a call failed because nothing answers at the address. A TLS error or an answer is no absence.
pub fn absence(error: &(dyn Error + 'static)) -> Option<Absence> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            if is_silence(error.kind()) {
                return Some(Absence::Silent);
            }
            if error.to_string().contains(LOOKUP) {
                return Some(Absence::Unresolved);
            }
        }
        next = error.source();
    }
    None
}

const fn is_silence(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::TimedOut
    )
}

/// The innermost cause of a failed call, as text for an operator. Library layers in between and error numbers are
/// left out.
pub fn plain_reason(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    let mut system = None;
    loop {
        system = innermost.downcast_ref::<io::Error>().or(system);
        match innermost.source() {
            Some(cause) => innermost = cause,
            None => break,
        }
    }
    if let Some(words) = system.and_then(|error| words(error.kind())) {
        return words.to_owned();
    }
    let text = innermost.to_string();
    match text.rsplit_once(" (os error ") {
        Some((before, _number)) => before.to_owned(),
        None => text,
    }
}

const fn words(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::ConnectionRefused => Some("connection refused"),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some("the connection was closed"),
        ErrorKind::TimedOut => Some(NO_ANSWER),
        ErrorKind::HostUnreachable => Some("no route to the host"),
        ErrorKind::NetworkUnreachable => Some("the network is unreachable"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the call failed")]
    struct Call(#[source] io::Error);

    #[test]
    fn a_refused_connection_is_found_below_other_errors() {
        let call = |kind| Call(io::Error::from(kind));
        assert_eq!(
            absence(&call(ErrorKind::ConnectionRefused)),
            Some(Absence::Silent)
        );
        assert_eq!(absence(&call(ErrorKind::TimedOut)), Some(Absence::Silent));
        assert_eq!(absence(&call(ErrorKind::InvalidData)), None);
    }

    #[test]
    fn a_name_without_an_address_is_told_apart() {
        let error = io::Error::other(format!("{LOOKUP}: Name or service not known"));
        assert_eq!(absence(&Call(error)), Some(Absence::Unresolved));
    }

    #[derive(Debug, thiserror::Error)]
    #[error("client error (Connect)")]
    struct Connect(#[source] io::Error);

    #[test]
    fn the_reason_is_the_innermost_cause_without_numbers() {
        for (number, reason) in [
            (111, "connection refused"),
            (104, "the connection was closed"),
            (13, "Permission denied"),
        ] {
            let error = Connect(io::Error::from_raw_os_error(number));
            assert_eq!(plain_reason(&error), reason);
        }
        let error = Connect(io::Error::other("no certificate"));
        assert_eq!(plain_reason(&error), "no certificate");
    }
}
