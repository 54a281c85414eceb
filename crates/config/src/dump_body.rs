//! The tree of blocks and values that is written, in either language.

use cts_core::hidden::{HIDDEN, without_secrets};
use serde_json::{Map, Value};

use crate::report::mask::may_hold_password;

/// The content of a block, in order.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) items: Vec<Item>,
}

#[derive(Debug)]
pub(crate) enum Item {
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

/// At any depth.
fn without_secrets_of_urls(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let shown = without_secrets(&text);
            // No URL has blanks and quotes in it, and yet a password may have been written with some.
            let is_odd = shown == text && may_hold_password(&text);
            Value::from(if is_odd { HIDDEN } else { &shown })
        }
        Value::Array(values) => values.into_iter().map(without_secrets_of_urls).collect(),
        Value::Object(map) => {
            let entries = map.into_iter();
            entries
                .map(|(name, value)| (name, without_secrets_of_urls(value)))
                .collect()
        }
        other => other,
    }
}

impl Body {
    /// Secrets in URLs are hidden whatever they belong to.
    pub(crate) fn set(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.items.push(Item::Attribute {
            name: name.into(),
            value: without_secrets_of_urls(value.into()),
        });
    }

    pub(crate) fn set_some(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.items
            .retain(|item| !matches!(item, Item::Attribute { name, .. } if name == key));
    }

    pub(crate) fn block(&mut self, name: &'static str, body: Self) {
        self.push(name, None, false, body);
    }

    pub(crate) fn labelled(&mut self, name: &'static str, label: &str, body: Self) {
        self.push(name, Some(label), false, body);
    }

    pub(crate) fn repeated(&mut self, name: &'static str, label: Option<&str>, body: Self) {
        self.push(name, label, true, body);
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
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

impl From<Map<String, Value>> for Body {
    fn from(members: Map<String, Value>) -> Self {
        let mut body = Self::default();
        for (name, value) in members {
            body.set(name, value);
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_hidden_however_it_is_written() {
        let shown = |url: &str| without_secrets_of_urls(Value::from(url));
        for url in ["http://u:p w@h", "redis://u:p\"w@h"] {
            assert_eq!(shown(url), HIDDEN, "{url}");
        }
        assert_eq!(shown("http://u:p'w<@h"), "http://(hidden)@h");
        assert_eq!(shown("http://h:1/x y"), "http://h:1/x y");
    }
}
