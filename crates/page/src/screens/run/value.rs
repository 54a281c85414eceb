//! Values of plans and inputs, as far as REST shows them.

use std::fmt;

use cts_proto::run::v1::PlannedValue;
use cts_proto::run::v1::planned_value::Value;

use crate::text::Foreign;

/// A value in a cell of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a>(pub(super) Option<&'a PlannedValue>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.map(|it| &it.value) {
            None => f.write_str("<span class=\"muted\">none</span>"),
            Some(Some(Value::Json(json))) => write!(f, "<code>{}</code>", Foreign(json)),
            Some(Some(Value::Unknown(_))) => f.write_str("<i>known after the apply</i>"),
            Some(Some(Value::Hidden(_)) | None) => f.write_str("<i>hidden</i>"),
        }
    }
}

impl askama::filters::HtmlSafe for Shown<'_> {}

/// Bytes of values that a fragment may still show: an answer of REST may have 16 MiB of them.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) const fn new() -> Self {
        Self(512 * 1024)
    }

    /// The first of `items` that fit, and the number of the others. `bytes` is the length of an item.
    pub(super) fn take<T>(
        &mut self,
        items: Vec<T>,
        bytes: impl Fn(&T) -> usize,
    ) -> (Vec<T>, usize) {
        let all = items.len();
        // Markup around an item counts, too.
        let mut fits = |item: &T| {
            let left = self.0.checked_sub(bytes(item) + 64);
            self.0 = left.unwrap_or(0);
            left.is_some()
        };
        let shown: Vec<T> = items.into_iter().take_while(|item| fits(item)).collect();
        let more = all - shown.len();
        (shown, more)
    }
}

/// Bytes of the text of a value.
pub(super) fn bytes(value: Option<&PlannedValue>) -> usize {
    match value.and_then(|it| it.value.as_ref()) {
        Some(Value::Json(json)) => json.len(),
        _ => 0,
    }
}
