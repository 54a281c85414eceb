//! Hosts and origins.

use url::Url;

/// A host without a port, in small letters.
pub(crate) fn host(text: &str) -> Result<String, &'static str> {
    read_host(text).ok_or("is no host name such as \"cts.example\", without scheme and port")
}

fn read_host(text: &str) -> Option<String> {
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
pub(crate) fn origin(text: &str) -> Result<String, &'static str> {
    const REFUSAL: &str =
        "is no origin such as \"https://ops.example\" or \"http://ops.example:8080\"";
    read_origin(text).ok_or(REFUSAL)
}

fn read_origin(text: &str) -> Option<String> {
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
            assert_eq!(read_host(text).as_deref(), expected, "{text}");
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
            assert_eq!(read_origin(text).as_deref(), expected, "{text}");
        }
    }
}
