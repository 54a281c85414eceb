//! Secrets in texts and values that are shown (docs/configuration.md#hidden-secrets).
//!
//! One rule applies to every shown text: by the name of a value, and by its position in a URL. In addition, workers
//! hide values that only a run knows to be secret, such as the value of a provider's argument.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::engine::backend::Backend;

/// Replaces a secret.
pub const HIDDEN: &str = "(hidden)";

/// The environment of the command that supplies credentials for Kubernetes.
const ENVIRONMENT: &str = "env";

/// Suffixes of names that look like secrets but hold none: files, and the suffix of a Kubernetes object.
const SHOWN_ENDS: [&str; 4] = ["_file", "_files", "_path", "secret_suffix"];

/// Whether the value of a key with this name must be hidden.
pub fn is_secret_name(name: &str) -> bool {
    const PARTS: [&str; 6] = [
        "token",
        "passw",
        "passphrase",
        "secret",
        "credential",
        "apikey",
    ];
    let name = name.to_ascii_lowercase();
    let is_key = name.ends_with("_key") || name.ends_with("-key");
    is_key || PARTS.iter().any(|part| name.contains(part))
}

/// Whether an attribute with this name is hidden, whatever its value.
pub fn hides_attribute(name: &str) -> bool {
    is_secret_name(name) || name == ENVIRONMENT
}

/// Whether a URL parameter with this name is a secret: keys for Git, signatures of object stores.
fn is_secret_parameter(name: &str) -> bool {
    let lower_case = name.to_ascii_lowercase();
    is_secret_name(name)
        || matches!(lower_case.as_str(), "sshkey" | "sig")
        || lower_case.contains("signature")
}

/// Returns where the host of a URL ends; `rest` is the URL without its scheme.
pub fn authority_end(rest: &str) -> usize {
    rest.find(['/', '?', '#']).unwrap_or(rest.len())
}

/// Returns the ranges of secrets in the URLs of a text, sorted and disjoint: the user of HTTP, which may be a token,
/// the password of any other user, and parameters with secret names.
pub fn secret_places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(found) = text[from..].find("://") {
        let start = from + found + 3;
        let ends = |c: char| c.is_whitespace() || c == '"';
        let length = text[start..].find(ends);
        let end = length.map_or(text.len(), |length| start + length);
        let is_web = is_web(&text[from..start - 3]);
        for place in places_in(&text[start..end], is_web) {
            places.push(start + place.start..start + place.end);
        }
        from = end;
    }
    places
}

/// Whether a scheme is HTTP; text may precede the scheme.
fn is_web(scheme: &str) -> bool {
    let name = scheme.rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
    name.is_some_and(|name| name.eq_ignore_ascii_case("http") || name.eq_ignore_ascii_case("https"))
}

/// Returns the ranges of secrets in one URL, relative to the end of its scheme.
fn places_in(rest: &str, is_web: bool) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let authority = &rest[..authority_end(rest)];
    // A password may contain an unescaped slash.
    let with_password = rest.rfind('@').and_then(|end| {
        let colon = rest[..end].find(':')?;
        Some((colon, end))
    });
    match (with_password, authority.rfind('@')) {
        (Some((_, end)), Some(_)) if is_web => places.push(0..end),
        (None, Some(end)) if is_web => places.push(0..end),
        (Some((colon, end)), _) => places.push(colon + 1..end),
        (None, _) => {}
    }
    let covered = places.last().map_or(0, |place| place.end);
    let Some(query) = rest[covered..].find('?') else {
        return places;
    };
    let mut at = covered + query + 1;
    for parameter in rest[at..].split('&') {
        if let Some((name, value)) = parameter.split_once('=')
            && !value.is_empty()
            && is_secret_parameter(name)
        {
            let end = at + parameter.len();
            places.push(end - value.len()..end);
        }
        at += parameter.len() + 1;
    }
    places.retain(|place| !place.is_empty());
    places
}

/// A text with the secrets of its URLs replaced.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let places = secret_places(text);
    if places.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(without(text, &places))
    }
}

/// A text with the ranges `places` replaced, which must be sorted and disjoint.
pub fn without(text: &str, places: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut from = 0;
    for place in places {
        shown.push_str(&text[from..place.start]);
        shown.push_str(HIDDEN);
        from = place.end;
    }
    shown.push_str(&text[from..]);
    shown
}

/// The secrets in the URLs of a text; user and password also separately.
pub fn secrets_of(text: &str) -> Vec<&str> {
    let places = secret_places(text).into_iter();
    let mut secrets = Vec::new();
    for secret in places.map(|place| &text[place]) {
        secrets.push(secret);
        if let Some((user, password)) = secret.split_once(':') {
            secrets.extend([user, password]);
        }
    }
    secrets.retain(|secret| !secret.is_empty());
    secrets
}

/// A value with this name as shown: secrets are hidden by name or by position in a URL, at any depth.
pub fn shown(name: &str, value: &Value) -> Value {
    if is_secret(name, value) {
        return HIDDEN.into();
    }
    match value {
        Value::String(text) => Value::String(without_secrets(text).into_owned()),
        Value::Array(values) => values.iter().map(|value| shown(name, value)).collect(),
        Value::Object(map) => Value::Object(shown_members(map)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The members of an object as shown.
pub fn shown_members(map: &Map<String, Value>) -> Map<String, Value> {
    let entries = map.iter();
    entries
        .map(|(name, value)| (name.clone(), shown(name, value)))
        .collect()
}

/// The parts of a value with this name that [`shown`] hides because of a name, at any depth.
pub fn hidden_parts<'v>(name: &str, value: &'v Value) -> Vec<&'v Value> {
    if is_secret(name, value) {
        return vec![value];
    }
    match value {
        Value::Array(values) => {
            let parts = values.iter().flat_map(|value| hidden_parts(name, value));
            parts.collect()
        }
        Value::Object(map) => {
            let parts = map.iter();
            let parts = parts.flat_map(|(name, value)| hidden_parts(name, value));
            parts.collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Whether [`shown`] hides any part of a value with this name.
pub fn hides_any(name: &str, value: &Value) -> bool {
    shown(name, value) != *value
}

/// A value with this name, as the text of an expression: hidden completely if a member in it has a secret name.
pub fn shown_expression<'t>(name: &str, text: &'t str) -> Cow<'t, str> {
    if is_secret(name, &Value::from(text)) || assigns_secret(text) {
        Cow::Borrowed(HIDDEN)
    } else {
        without_secrets(text)
    }
}

/// Whether the text of an expression assigns to a secret name.
fn assigns_secret(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let word = &rest[start..];
        let end = word.find(|c| !is_word(c)).unwrap_or(word.len());
        let behind = word[end..].trim_start_matches([' ', '\t', '"', '\\']);
        if behind.starts_with(['=', ':']) && is_secret_name(&word[..end]) {
            return true;
        }
        rest = &word[end..];
    }
    false
}

fn is_secret(name: &str, value: &Value) -> bool {
    let sounds_so = hides_attribute(name);
    let holds_none = SHOWN_ENDS.iter().any(|end| name.ends_with(end));
    let says_nothing = value.is_boolean() || value.is_null() || value == &Value::from("");
    Backend::is_credential(name, value) || (sounds_so && !holds_none && !says_nothing)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Possible positions of a secret in a text. None of their own parts is long enough to look like a secret.
    const PLACES: [&str; 9] = [
        "https://@S@@h/x",
        "git::http://u:@S@@h:8/x?ref=1",
        "https://@S@:x-oauth-basic@h",
        "postgres://u:@S@@h/d?sslmode=disable",
        "postgresql:///d?password=@S@&x=1",
        "git::ssh://git@h/x.git?sshkey=@S@",
        "see https://h/b?sv=1&sig=@S@ and \"https://@S@@i\".",
        "s3::https://h/x.zip?X-Amz-Signature=@S@",
        "http://a@b, http://u:@S@@h",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_text_shows_a_secret(secret in "[A-Za-z0-9._~%+-]{12,40}", place in 0..PLACES.len()) {
            let text = PLACES[place].replace("@S@", &secret);
            let shown = without_secrets(&text);
            prop_assert!(!shown.contains(&secret), "{}", shown);
            prop_assert!(secrets_of(&text).contains(&secret.as_str()));
            prop_assert_eq!(without_secrets(&shown), shown.as_ref());
        }

        #[test]
        fn any_text_is_shown_once_and_for_all(text in "[a-z:/@?&= \"]{0,40}") {
            let shown = without_secrets(&text);
            prop_assert_eq!(without_secrets(&shown), shown.as_ref());
        }
    }

    #[test]
    fn secrets_of_urls_are_hidden() {
        let cases = [
            (
                "postgres://cts:a/b@c@db/cts",
                "postgres://cts:(hidden)@db/cts",
            ),
            (
                "postgresql:///cts?host=/run&password=x&sslpassword=y",
                "postgresql:///cts?host=/run&password=(hidden)&sslpassword=(hidden)",
            ),
            ("postgres://cts@db/cts", "postgres://cts@db/cts"),
            ("http://u:p@h:1/x", "http://(hidden)@h:1/x"),
            (
                "git::https://t@h/x@1?ref=a",
                "git::https://(hidden)@h/x@1?ref=a",
            ),
            ("https://t:x-oauth-basic@h/x", "https://(hidden)@h/x"),
            ("HTTPS://t:@h/x", "HTTPS://(hidden)@h/x"),
            (
                "ssh://git@h/x?ref=a&sshkey=b",
                "ssh://git@h/x?ref=a&sshkey=(hidden)",
            ),
            ("https://h/x?sv=1&sig=b", "https://h/x?sv=1&sig=(hidden)"),
            ("http://h:1/x", "http://h:1/x"),
            ("https://h/x@1", "https://h/x@1"),
            ("u:p@h", "u:p@h"),
            (
                "cannot get \"https://t@h/x\": see https://u:p@i?token=a b",
                "cannot get \"https://(hidden)@h/x\": see https://(hidden)@i?token=(hidden) b",
            ),
        ];
        for (url, expected) in cases {
            assert_eq!(without_secrets(url), expected);
            assert_eq!(without_secrets(expected), expected, "twice is once");
            for secret in secrets_of(url) {
                assert!(url.contains(secret) && !secret.is_empty());
            }
        }
        assert_eq!(secrets_of("https://u:p@h?sig=s"), ["u:p", "u", "p", "s"]);
    }

    #[test]
    fn values_are_hidden_by_their_names() {
        let attributes = json!({
            "path": "p", "access_token": "t", "conn_str": "c", "http_auth": "", "nested": [{ "secret_key": 1, "b": 2 }],
            "skip_credentials_validation": true, "shared_credentials_file": "f", "secret_suffix": "s",
            "url": ["https://t@h"]
        });
        let expected = json!({
            "path": "p", "access_token": HIDDEN, "conn_str": HIDDEN, "http_auth": "",
            "nested": [{ "secret_key": HIDDEN, "b": 2 }],
            "skip_credentials_validation": true, "shared_credentials_file": "f", "secret_suffix": "s",
            "url": ["https://(hidden)@h"]
        });
        assert_eq!(shown("backend", &attributes), expected);
        assert!(hides_any("backend", &attributes) && !hides_any("backend", &expected));
        let parts = hidden_parts("backend", &attributes);
        assert_eq!(parts, [&json!("t"), &json!("c"), &json!(1)]);
        assert_eq!(hidden_parts("api_token", &attributes), [&attributes]);
    }

    #[test]
    fn an_expression_with_a_secret_in_it_is_hidden() {
        for hidden in [
            "{ password = \"x\" }",
            "{\"api_key\": 1}",
            "[{ my-token: 2 }]",
        ] {
            assert_eq!(shown_expression("a", hidden), HIDDEN, "{hidden}");
        }
        assert_eq!(shown_expression("password", "\"x\""), HIDDEN);
        for shown in ["\"password\"", "{ size = 3 }", "true", "[80, 443]", ""] {
            assert_eq!(shown_expression("a", shown), shown);
        }
    }
}
