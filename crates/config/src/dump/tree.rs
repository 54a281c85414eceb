//! What is to be written, in either language.

use serde_json::Value;

use crate::dump::hidden::without_passwords;

/// The content of a block, in order.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) items: Vec<Item>,
}

#[derive(Debug)]
pub(super) enum Item {
    Attribute {
        name: String,
        value: Value,
    },
    Block {
        name: &'static str,
        label: Option<String>,
        /// Whether there may be several; JSON has a list of them then.
        repeated: bool,
        body: Body,
    },
    /// A comment, left out in JSON.
    Note(String),
}

impl Body {
    /// Passwords in URLs are hidden whatever they belong to.
    pub(super) fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.items.push(Item::Attribute {
            name: name.into(),
            value: without_passwords(value.into()),
        });
    }

    pub(super) fn set_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    pub(super) fn block(&mut self, name: &'static str, body: Self) {
        self.push(name, None, false, body);
    }

    pub(super) fn labelled(&mut self, name: &'static str, label: &str, body: Self) {
        self.push(name, Some(label), false, body);
    }

    pub(super) fn repeated(&mut self, name: &'static str, label: Option<&str>, body: Self) {
        self.push(name, label, true, body);
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.items.push(Item::Note(text.into()));
    }

    fn push(&mut self, name: &'static str, label: Option<&str>, repeated: bool, body: Self) {
        self.items.push(Item::Block {
            name,
            label: label.map(str::to_owned),
            repeated,
            body,
        });
    }
}
