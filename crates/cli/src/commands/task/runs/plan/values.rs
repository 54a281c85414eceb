//! Values of attributes and outputs, each on one line.

use cts_proto::run::v1::PlannedValue;
use cts_proto::run::v1::planned_value::Value;

use crate::commands::terminal_text::on_one_line;

/// Longest value that is shown in full, in characters.
const LONGEST: usize = 120;

/// Shows values, and notes whether one was cut.
#[derive(Debug, Default)]
pub(crate) struct Values {
    pub(crate) has_cut: bool,
}

impl Values {
    /// `before -> after`; `after` alone for what is made.
    pub(crate) fn change(
        &mut self,
        before: Option<&PlannedValue>,
        after: Option<&PlannedValue>,
    ) -> String {
        match (before, after) {
            (None, Some(after)) => self.value(after),
            (before, after) => {
                let mut shown = |value: Option<&PlannedValue>| {
                    value.map_or_else(|| "(none)".to_owned(), |value| self.value(value))
                };
                format!("{} -> {}", shown(before), shown(after))
            }
        }
    }

    fn value(&mut self, value: &PlannedValue) -> String {
        match &value.value {
            Some(Value::Json(text)) => match text.char_indices().nth(LONGEST) {
                None => on_one_line(text).into_owned(),
                Some((end, _)) => {
                    self.has_cut = true;
                    format!("{}…", on_one_line(text.get(..end).unwrap_or_default()))
                }
            },
            Some(Value::Unknown(_)) => "(known after apply)".to_owned(),
            Some(Value::Hidden(_)) | None => "(hidden)".to_owned(),
        }
    }
}
