//! The forms of an address (docs/runs.md#the-connection-to-consul).

use std::net::IpAddr;
use std::path::PathBuf;

use crate::error::SettingsError;

/// An address taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Whether the address demands TLS.
    pub(crate) https: bool,
    /// Host, and port where given; of no meaning for a socket.
    pub(crate) authority: String,
    /// Prefix of every path: empty, or with a leading slash and without a trailing slash.
    pub(crate) prefix: String,
    /// The Unix socket to connect to.
    pub(crate) socket: Option<PathBuf>,
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, SettingsError> {
        let text = if text.is_empty() {
            "127.0.0.1:8500"
        } else {
            text
        };
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let (authority, prefix, socket) = match scheme {
            "http" | "https" => {
                let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
                let path = path.trim_matches('/');
                let prefix = if path.is_empty() {
                    String::new()
                } else {
                    format!("/{path}")
                };
                (authority, prefix, None)
            }
            "unix" => ("localhost", String::new(), Some(PathBuf::from(rest))),
            other => {
                return Err(SettingsError::UnknownScheme {
                    scheme: other.to_owned(),
                });
            }
        };
        if rest.is_empty() || authority.is_empty() || authority.contains('@') {
            return Err(SettingsError::InvalidAddress);
        }
        Ok(Self {
            https: scheme == "https",
            authority: authority.to_owned(),
            prefix,
            socket,
        })
    }

    /// Host without port and without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        if let Some(rest) = self.authority.strip_prefix('[') {
            return rest.split_once(']').map_or(rest, |(host, _)| host);
        }
        self.authority
            .split_once(':')
            .map_or(self.authority.as_str(), |(host, _)| host)
    }

    /// Port, where given.
    pub(crate) fn port(&self) -> Option<&str> {
        let after_host = self.authority.rsplit(']').next()?;
        after_host.split_once(':').map(|(_, port)| port)
    }

    /// Whether Consul runs on this machine: connections to it must never use a proxy.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.host();
        self.socket.is_some()
            || host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }
}

/// Returns whether requests to `address` leave this machine without TLS. `https` is configured separately from
/// the address.
pub fn is_plain_over_network(address: &str, https: bool) -> bool {
    let address = Address::parse(address);
    address.is_ok_and(|address| !https && !address.https && !address.is_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Address {
        Address::parse(text).unwrap()
    }

    #[test]
    fn every_documented_form_is_accepted() {
        let plain = parsed("consul.example:8501");
        assert_eq!(
            (plain.https, plain.host(), plain.port()),
            (false, "consul.example", Some("8501"))
        );
        let prefixed = parsed("https://proxy/consul/a/");
        assert_eq!(
            (prefixed.https, prefixed.host(), prefixed.port()),
            (true, "proxy", None)
        );
        assert_eq!(prefixed.prefix, "/consul/a");
        let six = parsed("http://[::1]:8500");
        assert_eq!((six.host(), six.port()), ("::1", Some("8500")));
        assert!(six.is_local());
        let socket = parsed("unix:///run/consul.sock");
        assert_eq!(socket.socket, Some(PathBuf::from("/run/consul.sock")));
        assert_eq!(parsed("").authority, "127.0.0.1:8500");
    }

    #[test]
    fn other_schemes_and_user_information_are_refused() {
        assert!(matches!(
            Address::parse("ftp://x"),
            Err(SettingsError::UnknownScheme { scheme }) if scheme == "ftp"
        ));
        for text in ["http://", "http://user:secret@host:8500", "unix://"] {
            let error = Address::parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"));
        }
    }

    #[test]
    fn plain_text_over_the_network_is_noticed() {
        let is_plain = |address: &str| is_plain_over_network(address, false);
        assert!(is_plain("10.0.0.1:8500") && is_plain("http://consul.example"));
        for safe in [
            "https://10.0.0.1:8501",
            "localhost:8500",
            "unix:///run/consul.sock",
        ] {
            assert!(!is_plain(safe), "{safe}");
        }
        assert!(!is_plain_over_network("10.0.0.1:8501", true));
    }

    #[test]
    fn only_this_machine_is_local() {
        assert!(parsed("LOCALHOST:8500").is_local());
        assert!(parsed("127.3.2.1").is_local());
        assert!(!parsed("10.0.0.1:8500").is_local());
        assert!(!parsed("localhost.example:8500").is_local());
    }
}
