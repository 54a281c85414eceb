//! Faults that a test sets, and the requests that came.

use std::time::Duration;

use axum::http::StatusCode;

/// A fault of the next requests that match it.
#[derive(Debug, Clone)]
pub struct Fault {
    method: &'static str,
    pattern: String,
    times: usize,
    pub(super) kind: FaultKind,
}

/// How a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    Status(StatusCode),
    Delay(Duration),
    LoseAnswer,
}

impl Fault {
    fn new(method: &'static str, pattern: &str, kind: FaultKind) -> Self {
        Self {
            method,
            pattern: pattern.to_owned(),
            times: 1,
            kind,
        }
    }

    /// The answer is this status; nothing is done. The method `*` is any; in the path, below the base path, a part `*` is
    /// any, and `**` at the end any rest.
    ///
    /// Panics if there is no such status.
    pub fn status(method: &'static str, path: &str, status: u16) -> Self {
        let status = StatusCode::from_u16(status);
        let status = status.unwrap_or_else(|error| panic!("{error}"));
        Self::new(method, path, FaultKind::Status(status))
    }

    /// The request waits, then all is as usual.
    pub fn delay(method: &'static str, path: &str, delay: Duration) -> Self {
        Self::new(method, path, FaultKind::Delay(delay))
    }

    /// The request is carried out, but the connection is closed without an answer.
    pub fn lose_answer(method: &'static str, path: &str) -> Self {
        Self::new(method, path, FaultKind::LoseAnswer)
    }

    /// That many requests fail, instead of one.
    #[must_use]
    pub const fn times(mut self, times: usize) -> Self {
        self.times = times;
        self
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        (self.method == "*" || self.method == method) && path_matches(&self.pattern, path)
    }
}

/// The kind of the first fault that matches, used up by this request.
pub(super) fn next_fault(faults: &mut Vec<Fault>, method: &str, path: &str) -> Option<FaultKind> {
    let mut matching = faults
        .iter_mut()
        .filter(|fault| fault.matches(method, path));
    let fault = matching.next()?;
    fault.times -= 1;
    let kind = fault.kind;
    faults.retain(|fault| fault.times > 0);
    Some(kind)
}

/// Whether a path fits a pattern of [`Fault::status`].
pub(super) fn path_matches(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (Some("**"), _) | (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return false,
        }
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct HcpRequest {
    /// The method.
    pub method: String,
    /// The path: below the base path for the API (`/runs`), whole for anything else.
    pub path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_parts_of_paths() {
        let rows = [
            ("/runs", "/runs", true),
            ("/runs", "/runs/run-1", false),
            ("/runs/*", "/runs/run-1", true),
            ("/runs/*", "/runs", false),
            ("/runs/*/actions/cancel", "/runs/run-1/actions/cancel", true),
            ("/runs/**", "/runs/run-1/actions/cancel", true),
            ("/**", "/ping", true),
        ];
        for (pattern, path, expected) in rows {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
