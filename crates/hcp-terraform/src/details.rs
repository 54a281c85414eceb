//! Refusals, with the errors that the server reports.

use std::fmt;

use cts_core::excerpt;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;

use crate::call::Call;

/// Most characters of a text of the server.
const LONGEST_TEXT: usize = 300;

/// Most errors of one answer.
const MOST_DETAILS: usize = 10;

/// The server refused a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedCall {
    /// The request.
    pub call: Call,
    /// HTTP status.
    pub status: u16,
    /// Errors that the server reports; none with a signed URL, whose answers may quote it.
    pub details: Vec<Detail>,
}

/// An error that the server reports. Each text is one line of limited length, without control characters.
///
/// The server may quote values of the request: a caller that sent secrets removes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "names of the API")]
pub struct Detail {
    /// Title of the kind of error.
    pub title: String,
    /// Details of this error; may be empty.
    pub detail: String,
    /// Place in the request, as a JSON pointer; may be empty.
    pub pointer: String,
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<Reported>,
}

/// The documented form, and the text that older servers send.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reported {
    Object {
        title: Option<String>,
        detail: Option<String>,
        source: Option<Source>,
    },
    Text(String),
}

#[derive(Deserialize)]
struct Source {
    pointer: Option<String>,
}

/// Reads the errors in the body of an answer. `hidden` is the token, in case that an answer quotes it.
pub(crate) fn details(body: &[u8], hidden: &SecretString) -> Vec<Detail> {
    let shown = |text: Option<String>| shown(&text.unwrap_or_default(), hidden);
    let detail = |reported| match reported {
        Reported::Object {
            title,
            detail,
            source,
        } => Detail {
            title: shown(title),
            detail: shown(detail),
            pointer: shown(source.and_then(|source| source.pointer)),
        },
        Reported::Text(text) => Detail {
            title: shown(Some(text)),
            ..Detail::default()
        },
    };
    if let Ok(known) = serde_json::from_slice::<Errors>(body) {
        let errors = known.errors.into_iter().take(MOST_DETAILS);
        return errors.map(detail).collect();
    }
    // A proxy's page, for instance.
    let text = String::from_utf8_lossy(body);
    if text.trim().is_empty() {
        return Vec::new();
    }
    vec![detail(Reported::Text(text.into_owned()))]
}

fn shown(text: &str, hidden: &SecretString) -> String {
    let token = hidden.expose_secret().trim();
    if token.is_empty() || !text.contains(token) {
        return excerpt(text, LONGEST_TEXT);
    }
    excerpt(&text.replace(token, "(token)"), LONGEST_TEXT)
}

/// The errors as the end of a message.
pub(crate) fn joined(details: &[Detail]) -> String {
    let texts: Vec<_> = details.iter().map(Detail::to_string).collect();
    if texts.is_empty() {
        return String::new();
    }
    format!(": {}", texts.join("; "))
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)?;
        if !self.detail.is_empty() && self.detail != self.title {
            let between = if self.title.is_empty() { "" } else { ": " };
            write!(f, "{between}{}", self.detail)?;
        }
        if !self.pointer.is_empty() {
            write!(f, " ({})", self.pointer)?;
        }
        Ok(())
    }
}

impl fmt::Display for RefusedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            call,
            status,
            details,
        } = self;
        write!(f, "{call} has status {status}{}", joined(details))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(body: &str) -> String {
        joined(&details(
            body.as_bytes(),
            &SecretString::from("atlas-token"),
        ))
    }

    #[test]
    fn errors_are_shown_with_title_detail_and_pointer() {
        let body = r#"{"errors":[{"status":"422","title":"invalid attribute","detail":"Name is taken",
            "source":{"pointer":"/data/attributes/name"}},{"title":"not found"},"old form",
            {"detail":"only this"},{"title":null,"detail":null,"source":null}]}"#;
        assert_eq!(
            text(body),
            ": invalid attribute: Name is taken (/data/attributes/name); not found; old form; only this; "
        );
        assert_eq!(text(""), "");
        assert_eq!(text("<html>\n502</html>"), ": <html>\\n502</html>");
    }

    #[test]
    fn hostile_text_is_escaped_cut_and_without_the_token() {
        let long = "x".repeat(10_000);
        let body =
            format!(r#"{{"errors":[{{"title":"a\u001b[2J\nb atlas-token","detail":"{long}"}}]}}"#);
        let text = text(&body);
        assert!(text.starts_with(": a\\u{1b}[2J\\nb (token): xxx"), "{text}");
        assert!(text.len() < 700, "{}", text.len());
        let many = format!(r#"{{"errors":[{}"x"]}}"#, "\"x\",".repeat(1000));
        assert_eq!(details(many.as_bytes(), &SecretString::from("")).len(), 10);
    }
}
