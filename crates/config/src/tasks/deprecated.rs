//! Keys of tasks that have a successor (docs/configuration.md#deprecated-keys-of-tasks).

use crate::report::location::SourceLocation;
use crate::report::sink::Sink;

#[derive(Debug)]
pub(crate) struct DeprecatedKeyUse {
    pub(crate) key: &'static str,
    /// The key or block to write instead.
    pub(crate) replacement: &'static str,
    pub(crate) place: SourceLocation,
    /// Whether it has no effect because its successor is present as well.
    pub(crate) overruled: bool,
}

impl DeprecatedKeyUse {
    pub(crate) fn warn(&self, sink: &Sink) {
        let mut message = format!("`{}` is deprecated, use {}", self.key, self.replacement);
        if self.overruled {
            message.push_str("; it is ignored here, because that is configured as well");
        }
        sink.warning(&self.place, message);
    }

    /// Where the deprecated forms are not understood at all.
    pub(crate) fn refuse(&self, sink: &Sink) {
        sink.error(&self.place, self.refusal());
    }

    /// Scripts look for the sentence up to the comma.
    pub(crate) fn refusal(&self) -> String {
        let key = self.key;
        let what = match key {
            "source_input" => format!("'{key}' block in the task"),
            "source_includes_var" => {
                format!("'{key}' field in the task's 'condition \"services\"' block")
            }
            _ => format!("'{key}' field in the task block"),
        };
        format!(
            "the {what} is no longer supported, use {}",
            self.replacement
        )
    }
}
