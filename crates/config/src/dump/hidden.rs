//! Secrets, replaced.

use cts_core::Backend;
use serde_json::{Map, Value};

use crate::mask::{authority_end, is_secret_name, is_secret_parameter, is_web, may_hold_password};

/// Stands for a secret.
pub(super) const HIDDEN: &str = "(hidden)";

/// The environment of the command that brings credentials for Kubernetes.
const ENVIRONMENT: &str = "env";

/// Names that sound like secrets and hold none: files, and the suffix of an object of Kubernetes.
const SHOWN_ENDS: [&str; 4] = ["_file", "_files", "_path", "secret_suffix"];

fn is_secret(name: &str, value: &Value) -> bool {
    let sounds_so = is_secret_name(name) || name == ENVIRONMENT;
    let holds_none = SHOWN_ENDS.iter().any(|end| name.ends_with(end));
    let says_nothing = value.is_boolean() || value.is_null() || value == &Value::from("");
    Backend::is_credential(name, value) || (sounds_so && !holds_none && !says_nothing)
}

/// Hides what looks like a secret by its name, at any depth.
pub(super) fn without_secrets(map: &Map<String, Value>) -> Map<String, Value> {
    let entries = map.iter();
    entries
        .map(|(name, value)| (name.clone(), by_name(name, value)))
        .collect()
}

/// A value of that name, or what is shown instead.
pub(super) fn by_name(name: &str, value: &Value) -> Value {
    if is_secret(name, value) {
        return Value::from(HIDDEN);
    }
    match value {
        Value::Object(map) => Value::Object(without_secrets(map)),
        Value::Array(values) => {
            let hidden = values.iter().map(|value| by_name(name, value));
            Value::Array(hidden.collect())
        }
        other => other.clone(),
    }
}

/// Hides the passwords of URLs, at any depth.
pub(super) fn without_passwords(value: Value) -> Value {
    match value {
        Value::String(text) if may_hold_password(text.as_bytes()) => {
            Value::String(url_without_password(&text))
        }
        Value::Array(values) => values.into_iter().map(without_passwords).collect(),
        Value::Object(map) => {
            let entries = map.into_iter();
            entries
                .map(|(name, value)| (name, without_passwords(value)))
                .collect()
        }
        other => other,
    }
}

/// A URL with the password behind the user replaced, and secret parameters too; without a password, or with
/// one that only fills its place, the user of HTTP is the secret.
fn url_without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let is_web = is_web(scheme.as_bytes());
    let (authority, behind) = rest.split_at(authority_end(rest.as_bytes()));
    let with_password = rest
        .rsplit_once('@')
        .and_then(|(user, host)| Some((user.split_once(':')?, host)));
    let rest = match (with_password, authority.rsplit_once('@')) {
        (Some(((_, "" | "x-oauth-basic"), host)), _) if is_web => format!("{HIDDEN}@{host}"),
        (Some(((user, _), host)), _) => format!("{user}:{HIDDEN}@{host}"),
        (None, Some((_, host))) if is_web => format!("{HIDDEN}@{host}{behind}"),
        (None, _) => rest.to_owned(),
    };
    let rest = match rest.split_once('?') {
        Some((path, parameters)) => {
            let parameters: Vec<String> = parameters.split('&').map(parameter).collect();
            format!("{path}?{}", parameters.join("&"))
        }
        None => rest,
    };
    format!("{scheme}://{rest}")
}

fn parameter(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => format!("{name}={HIDDEN}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn passwords_of_urls_are_hidden() {
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
            ("http://u:p@h:1/x", "http://u:(hidden)@h:1/x"),
            (
                "git::https://t@h/x@1?ref=a",
                "git::https://(hidden)@h/x@1?ref=a",
            ),
            ("https://t:x-oauth-basic@h/x", "https://(hidden)@h/x"),
            (
                "ssh://git@h/x?ref=a&sshkey=b",
                "ssh://git@h/x?ref=a&sshkey=(hidden)",
            ),
            ("https://h/x?sv=1&sig=b", "https://h/x?sv=1&sig=(hidden)"),
            ("http://h:1/x", "http://h:1/x"),
            ("https://h/x@1", "https://h/x@1"),
            ("u:p@h", "u:p@h"),
        ];
        for (url, expected) in cases {
            assert_eq!(without_passwords(json!([url])), json!([expected]));
        }
    }

    #[test]
    fn attributes_are_hidden_by_their_names() {
        let attributes = json!({
            "path": "p", "access_token": "t", "conn_str": "c", "http_auth": "", "nested": [{ "secret_key": 1, "b": 2 }],
            "skip_credentials_validation": true, "shared_credentials_file": "f", "secret_suffix": "s"
        });
        let expected = json!({
            "path": "p", "access_token": HIDDEN, "conn_str": HIDDEN, "http_auth": "",
            "nested": [{ "secret_key": HIDDEN, "b": 2 }],
            "skip_credentials_validation": true, "shared_credentials_file": "f", "secret_suffix": "s"
        });
        assert_eq!(by_name("backend", &attributes), expected);
    }
}
