//! Comments: the header of every generated file, and the description of the module block.

use cts_core::{GENERATED_NOTICE, TaskDefinition};

use super::expression::{is_printable, write_escape};

/// How a task presents itself in the generated files.
pub(super) struct Title<'a> {
    /// Task name, also the label of the module block.
    pub(super) name: &'a str,
    /// Task description, may be empty and may have several lines.
    pub(super) description: &'a str,
}

impl<'a> Title<'a> {
    /// The title of a task.
    pub(super) fn of(definition: &'a TaskDefinition) -> Self {
        Self {
            name: definition.name.as_str(),
            description: &definition.description,
        }
    }

    /// A title that is equal for all tasks: for texts that are only compared.
    pub(super) const fn nameless() -> Self {
        Self {
            name: "task",
            description: "",
        }
    }

    /// The header of a file (docs/terraform.md#the-header), without an empty line after it.
    pub(super) fn header(&self) -> String {
        let mut text = String::from(GENERATED_NOTICE);
        text.push_str("\n# Manual edits may be lost at any time.\n#\n");
        text.push_str("# Task: ");
        text.push_str(self.name);
        text.push('\n');
        write_comment(&mut text, "Description:", self.description);
        text
    }
}

/// `label` and `text` as comment lines. A line break in `text` begins a further comment line, so that no text
/// can leave the comment, and invisible characters are written as numbers.
pub(super) fn write_comment(out: &mut String, label: &str, text: &str) {
    let mut prefix = label;
    for line in text.split(['\n', '\r']) {
        let mut comment = String::from("# ");
        comment.push_str(prefix);
        if !prefix.is_empty() {
            comment.push(' ');
        }
        for c in line.chars() {
            if is_printable(c) || c == '\t' {
                comment.push(c);
            } else {
                write_escape(&mut comment, c);
            }
        }
        out.push_str(comment.trim_end());
        out.push('\n');
        prefix = "";
    }
}
