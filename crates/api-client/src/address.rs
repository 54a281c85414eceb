//! Where the API is.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

/// The address of the API cannot be used (docs/cli.md#options-of-all-of-them). A password in it is not shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("the address of the API is empty: it must look like http://localhost:8558")]
    Empty,
    /// The text is not an absolute URL.
    #[error("{text:?} is not an absolute URL: it must look like http://localhost:8558")]
    NotAUrl {
        /// The given text.
        text: String,
    },
    /// Its scheme is neither `http` nor `https`.
    #[error("unknown scheme {scheme:?} in {text:?}: an address begins with http:// or https://")]
    UnknownScheme {
        scheme: String,
        /// The given text.
        text: String,
    },
    /// The URL names no host.
    #[error("{text:?} names no host: it must look like http://localhost:8558")]
    NoHost {
        /// The given text.
        text: String,
    },
}

/// An absolute URL that the paths of the API are appended to.
#[derive(Clone)]
pub(crate) struct Address(Url);

/// As displayed, because the URL may hold a password.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl Address {
    /// Reads `text`, a URL or `HOST:PORT`, which is plain HTTP; `port` takes the place of its port.
    pub(crate) fn parse(text: &str, port: Option<u16>) -> Result<Self, AddressError> {
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        let completed = is_host_and_port(text).then(|| format!("http://{text}"));
        let text = completed.as_deref().unwrap_or(text);
        let shown = || without_password(text);
        let not_a_url = || AddressError::NotAUrl { text: shown() };
        // The parser would take blanks and line ends away without a word.
        if text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(not_a_url());
        }
        let mut url = Url::parse(text).map_err(|error| {
            // The type of the error is not to be had through the HTTP library, its text is.
            if error.to_string() == "empty host" {
                AddressError::NoHost { text: shown() }
            } else {
                not_a_url()
            }
        })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressError::UnknownScheme {
                scheme: url.scheme().to_owned(),
                text: shown(),
            });
        }
        // The parser repairs `http:host` and `http:///host`.
        let rest = &text[url.scheme().len()..];
        if !rest.starts_with("://") || rest.starts_with(":///") {
            return Err(AddressError::NoHost { text: shown() });
        }
        if let Some(port) = port {
            url.set_port(Some(port)).map_err(|()| not_a_url())?;
        }
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// Whether answers come over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether requests leave this machine without TLS.
    pub(crate) fn is_plain_over_network(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_local = host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
        !self.is_secure() && !is_local
    }

    /// Where connections go to.
    pub(crate) fn host_and_port(&self) -> Option<(&str, u16)> {
        let host = self.0.host_str()?.trim_matches(['[', ']']);
        Some((host, self.0.port_or_known_default()?))
    }

    /// The address of an endpoint: a prefix of the address is kept, and each of `segments` is one segment of
    /// the path, whatever it contains.
    ///
    /// `.` and `..` are not segments, and the caller must not pass them.
    pub(crate) fn endpoint(&self, segments: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(segments);
        }
        url
    }
}

/// For display: without user name and password, and without a slash at the end.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(without_password(self.0.as_str()).trim_end_matches('/'))
    }
}

/// `text` with `***` for everything between scheme and `@`.
pub(crate) fn without_password(text: &str) -> String {
    let Some(at) = text.rfind('@') else {
        return text.to_owned();
    };
    let begin = text.find("://").map_or(0, |found| found + 3);
    if begin > at {
        return text.to_owned();
    }
    format!("{}***{}", &text[..begin], &text[at..])
}

/// Whether a text is `HOST:PORT`, without a scheme.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let is_host = !host.is_empty() && !host.contains(['/', '@']);
    is_host && !matches!(host, "http" | "https") && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(address: &str, segments: &[&str]) -> String {
        Address::parse(address, None)
            .unwrap()
            .endpoint(segments)
            .into()
    }

    #[test]
    fn paths_are_appended_and_a_prefix_is_kept() {
        let cases = [
            ("http://localhost:8558", "http://localhost:8558/v1/tasks"),
            ("http://localhost:8558/", "http://localhost:8558/v1/tasks"),
            ("HTTPS://Host", "https://host/v1/tasks"),
            ("https://host/a/b", "https://host/a/b/v1/tasks"),
            ("https://host/a/b/", "https://host/a/b/v1/tasks"),
            ("https://host/a%2Fb?x=1#y", "https://host/a%2Fb/v1/tasks"),
            ("http://[::1]:8558", "http://[::1]:8558/v1/tasks"),
            ("localhost:8558", "http://localhost:8558/v1/tasks"),
            ("127.0.0.1:8558", "http://127.0.0.1:8558/v1/tasks"),
            ("[::1]:8558", "http://[::1]:8558/v1/tasks"),
        ];
        for (address, expected) in cases {
            assert_eq!(endpoint(address, &["tasks"]), expected, "{address}");
        }
    }

    #[test]
    fn a_name_is_one_segment() {
        assert_eq!(
            endpoint("http://h", &["tasks", "a/b?c#d é%"]),
            "http://h/v1/tasks/a%2Fb%3Fc%23d%20%C3%A9%25"
        );
    }

    #[test]
    fn a_port_takes_the_place_of_another() {
        for (address, expected) in [
            ("http://h:1", "http://h:9/v1"),
            ("http://h/p", "http://h:9/p/v1"),
        ] {
            let url = Address::parse(address, Some(9)).unwrap().endpoint(&[]);
            assert_eq!(url.as_str(), expected);
        }
    }

    #[test]
    fn other_addresses_are_refused() {
        let text = |text: &str| text.to_owned();
        let unknown = |scheme: &str, address: &str| AddressError::UnknownScheme {
            scheme: text(scheme),
            text: text(address),
        };
        let not_a_url = |address: &str| AddressError::NotAUrl {
            text: text(address),
        };
        let no_host = |address: &str| AddressError::NoHost {
            text: text(address),
        };
        let cases = [
            ("", AddressError::Empty),
            ("localhost:8558/p", unknown("localhost", "localhost:8558/p")),
            ("localhost", not_a_url("localhost")),
            ("http:8558", no_host("http:8558")),
            ("unix:///cts.sock", unknown("unix", "unix:///cts.sock")),
            ("//localhost:8558", not_a_url("//localhost:8558")),
            ("http://host:port", not_a_url("http://host:port")),
            (" http://host", not_a_url(" http://host")),
            ("http://ho\nst", not_a_url("http://ho\nst")),
            ("http:host", no_host("http:host")),
            ("http:///host", no_host("http:///host")),
            ("http://", no_host("http://")),
        ];
        for (address, expected) in cases {
            let refused = Address::parse(address, None).unwrap_err();
            assert_eq!(refused, expected, "{address:?}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let refused = Address::parse("ftp://me:hunter2@host", None).unwrap_err();
        assert!(refused.to_string().contains("***@host"), "{refused}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
        let address = Address::parse("http://me:hunter2@host/p/", None).unwrap();
        assert_eq!(address.to_string(), "http://***@host/p");
    }
}
