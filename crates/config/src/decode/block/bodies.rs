//! The bodies of blocks of one name.

use crate::decode::coerce::describe;
use crate::decode::tree::{Entry, Part};
use crate::report::location::SourceLocation;
use crate::report::problem_kind::ProblemKind;
use crate::report::sink::Sink;

/// The blocks that are the value of a key; a value that is not a block is reported.
pub(super) fn bodies_or_report<'a>(entry: &Entry<'a>, path: &str, sink: &Sink) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for body in entry.bodies() {
        match body {
            Ok(part) => parts.push(part),
            Err(value) => {
                let place = SourceLocation::new(entry.source(), value.span.clone());
                let expected = entry.noun();
                let message = format!("`{path}` must be {expected}, not {}", describe(value));
                sink.malformed(&place, message, None);
            }
        }
    }
    parts
}

/// Reports all but the first of several blocks, and drops them.
pub(super) fn keep_first(parts: &mut Vec<Part<'_>>, path: &str, log_path: &str, sink: &Sink) {
    for second in parts.iter().skip(1) {
        let message = format!("only one `{path}` block can be configured");
        sink.error(&second.place, message);
        sink.classify(ProblemKind::SecondBlock(log_path.to_owned()));
    }
    parts.truncate(1);
}
