//! Forms: fields with what a refused form had in them, and what is wrong with each.

use askama::Template;

use crate::address::Query;
use crate::text::{Foreign, Markup, SHOWN};

/// Most bytes of a comment on a decision (docs/rest.md#consent).
const LONGEST_COMMENT: usize = 1024;

/// Field of a form with the key of its request of a run.
pub(crate) const KEY: &str = "key";

/// A form of an action.
#[derive(Debug, Clone, PartialEq, Eq, Default, Template)]
#[template(path = "form/form.html")]
pub(crate) struct Form {
    /// Address that it is posted to.
    pub(crate) address: String,
    pub(crate) fields: Vec<Field>,
    /// Its buttons; the first is that of the Enter key.
    pub(crate) buttons: Vec<Submit>,
    /// Why the caller may not send it; `None` if nothing is missing.
    pub(crate) missing: Option<String>,
    /// Why it was refused, unless a field is at fault.
    pub(crate) refusal: Option<String>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Label, possibly with foreign text; empty for a hidden field.
    pub(crate) label: String,
    pub(crate) value: String,
    /// For a box to tick, whether it is ticked; `None` for a line.
    pub(crate) ticked: Option<bool>,
    /// Fault of the value, as a sentence for the reader.
    pub(crate) fault: Option<String>,
}

/// A button that sends a form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Submit {
    pub(crate) label: &'static str,
    /// Value of the field `decision` that it adds; empty for none.
    pub(crate) decision: &'static str,
    /// Address in the place of that of the form; empty for none.
    pub(crate) address: String,
}

impl Form {
    /// Fault of the first field that has a fault.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fields.iter().find_map(|field| field.fault.as_deref())
    }

    pub(crate) fn markup(&self) -> Markup {
        Markup(self.render().unwrap_or_default())
    }
}

impl Field {
    /// A field that the form carries.
    pub(crate) fn hidden(name: &'static str, value: &str) -> Self {
        Self {
            name,
            value: value.to_owned(),
            ..Self::default()
        }
    }

    /// A box to tick.
    pub(crate) fn tick(name: &'static str, label: &str, is_ticked: bool) -> Self {
        Self {
            label: label.to_owned(),
            ticked: Some(is_ticked),
            ..Self::hidden(name, "yes")
        }
    }

    /// A line of text, as it was sent.
    pub(crate) fn line(name: &'static str, label: &str, sent: Option<&Query>) -> Self {
        let value = sent.map_or("", |sent| sent.get(name));
        let value = &value[..value.floor_char_boundary(SHOWN)];
        Self {
            name,
            label: label.to_owned(),
            value: value.chars().filter(|c| !c.is_control()).collect(),
            ..Self::default()
        }
    }

    /// The comment on a decision.
    pub(crate) fn comment(sent: Option<&Query>) -> Self {
        let comment = sent.map_or("", |sent| sent.get("comment"));
        let is_wrong = comment.len() > LONGEST_COMMENT || comment.contains(char::is_control);
        let fault = format!("A comment is one line of at most {LONGEST_COMMENT} bytes.");
        Self {
            fault: is_wrong.then_some(fault),
            ..Self::line("comment", "Comment", sent)
        }
    }

    /// Consent by typing one of these texts, each with its meaning.
    pub(crate) fn typed(accepted: &[(String, &str)], sent: Option<&Query>) -> Self {
        let words = accepted
            .iter()
            .map(|(text, what)| format!("{text} ({what})"));
        let label = format!(
            "To confirm, type {}",
            words.collect::<Vec<_>>().join(" or ")
        );
        let typed = sent.map(|sent| sent.get("confirm").trim());
        let is_wrong = typed.is_some_and(|typed| accepted.iter().all(|(text, _)| text != typed));
        let fault = is_wrong.then(|| format!("{label}: nothing was changed."));
        Self {
            fault,
            ..Self::line("confirm", &label, sent)
        }
    }
}
