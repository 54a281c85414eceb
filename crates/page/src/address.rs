//! Addresses of screens: a path below the prefix, and a query that is the whole state of the screen.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::form_urlencoded;

/// Everything but these is escaped in a segment of a path and in a value of a query.
const UNESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A segment of a path, or a value of a query.
pub(crate) fn escape(text: &str) -> String {
    utf8_percent_encode(text, UNESCAPED).to_string()
}

/// The members of a query, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Self {
        let members = form_urlencoded::parse(query.as_bytes()).into_owned();
        Self(members.collect())
    }

    /// The first value of this name; empty without one.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// All values of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// The query without these names.
    pub(crate) fn without(self, names: &[&str]) -> Self {
        let kept = self.0.into_iter();
        Self(
            kept.filter(|(name, _)| !names.contains(&name.as_str()))
                .collect(),
        )
    }

    /// All names with their values.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        let members = self.0.iter();
        members.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The query with `value` in the place of the values of `name`, as text without a question mark; an empty value
    /// leaves the name out.
    pub(crate) fn with(&self, name: &str, value: &str) -> String {
        let others = self.0.iter().filter(|(known, _)| known != name);
        let mut text = form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(others);
        if !value.is_empty() {
            text.append_pair(name, value);
        }
        text.finish()
    }
}
