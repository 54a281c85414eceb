//! Bodies of errors, with the codes that belong to their messages (docs/runbook.md#error-codes).

use crate::stage::REQUEST_ID;

/// Codes by a part of the message.
const CODES: [(&str, &str); 11] = [
    ("no scheduler is available", "no-scheduler"),
    (
        "Consul at consul.example:8500 is unreachable",
        "no-scheduler",
    ),
    ("database of the schedulers is unreachable", "no-scheduler"),
    ("because of an internal error", "internal"),
    ("redirect requests to leader", "not-the-leader"),
    ("is larger than", "request-too-large"),
    ("was not complete in time", "request-invalid"),
    ("the scheduler was lost while", "change-uncertain"),
    ("no connection is free", "too-many-requests"),
    (
        "only available with high availability",
        "method-not-allowed",
    ),
    ("is none of a list's", "request-invalid"),
];

/// The code of an error whose message is in [`CODES`].
#[track_caller]
pub(crate) fn code_of(message: &str) -> &'static str {
    if message.starts_with("CTS is not healthy") {
        return "not-healthy";
    }
    let code = CODES.iter().find(|(part, _)| message.contains(part));
    code.unwrap_or_else(|| panic!("{message:?} has no code here"))
        .1
}

/// The body of an error without the id of the request.
#[track_caller]
pub(crate) fn plain_error(message: &str) -> String {
    let code = code_of(message);
    format!("{{\"error\":{{\"message\":\"{message}\",\"code\":\"{code}\"}}}}\n")
}

/// The body of an error with the id of the request.
#[track_caller]
pub(crate) fn new_error(message: &str) -> String {
    let code = code_of(message);
    format!(
        "{{\"error\":{{\"message\":\"{message}\",\"code\":\"{code}\"}},\"request_id\":\"{REQUEST_ID}\"}}\n"
    )
}
