//! Lists of hosts and of origins.

use url::Url;

use crate::decode::block::Block;
use crate::decode::coerce;

/// Reads a list; each text that `read` does not take is an error.
pub(crate) fn decode_names(
    block: &mut Block<'_>,
    name: &'static str,
    read: fn(&str) -> Option<String>,
    problem: &str,
) -> Vec<String> {
    let mut names = Vec::new();
    for text in block.items(name) {
        if let Some(read) = read(&text.value) {
            names.push(read);
        } else {
            let message = format!(
                "{} in `{}` is {problem}",
                coerce::quoted(&text.value),
                block.path_of(name)
            );
            block.sink().error(&text.place, message);
        }
    }
    names
}

/// A host without a port, in small letters.
pub(crate) fn host(text: &str) -> Option<String> {
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    let is_host = url.port().is_none() && url.username().is_empty() && url.path() == "/";
    let has_port = text
        .rsplit_once(']')
        .map_or(text, |(_address, rest)| rest)
        .contains(':');
    let host = url
        .host_str()
        .filter(|_| is_host && !has_port && url.query().is_none());
    host.map(str::to_owned)
}

/// As browsers write it: small letters, and no port that is the usual one.
pub(crate) fn origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_origin = matches!(url.scheme(), "http" | "https")
        && url.path() == "/"
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_origin.then(|| url.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_no_port_and_origins_are_as_browsers_write_them() {
        for (text, expected) in [
            ("cts.example", Some("cts.example")),
            ("CTS.Example", Some("cts.example")),
            ("[fd00::1]", Some("[fd00::1]")),
            ("cts.example:8558", None),
            ("[fd00::1]:80", None),
            ("http://cts.example", None),
            ("cts.example/path", None),
            ("user@cts.example", None),
            ("", None),
        ] {
            assert_eq!(host(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("https://ops.example", Some("https://ops.example")),
            ("https://OPS.example:443/", Some("https://ops.example")),
            ("http://ops.example:8080", Some("http://ops.example:8080")),
            ("https://ops.example/page", None),
            ("https://user@ops.example", None),
            ("ops.example", None),
            ("file:///page", None),
            ("*", None),
            ("null", None),
        ] {
            assert_eq!(origin(text).as_deref(), expected, "{text}");
        }
    }
}
