//! Addresses of services as they stand in the configuration.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use rustls::pki_types::DnsName;

/// Address of a service: a host and a port.
///
/// Written `host:port`, or as the URLs `http://host:port` and `https://host:port`. An IPv6 address stands in brackets.
/// A DNS name stands for all its addresses. `http` is a spelling only: whether TLS is used is a matter of the settings;
/// `https` demands it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    host: Host,
    port: u16,
    demands_tls: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Host {
    Ip(IpAddr),
    Name(String),
}

/// A text is no address of a service.
#[derive(Debug, thiserror::Error)]
#[error("{address:?} is not the address of a service")]
pub struct InvalidAddress {
    address: String,
    /// Problem of the address.
    #[source]
    pub problem: AddressProblem,
}

/// Problem of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressProblem {
    /// The address is empty.
    #[error("it is empty")]
    Empty,
    /// The URL has another scheme.
    #[error("the scheme is neither http nor https")]
    Scheme,
    /// The address has more than host and port.
    #[error("there is more to it than a host and a port, as in scheduler.example.net:8560")]
    Surplus,
    /// The port is absent.
    #[error("the port is missing, as in scheduler.example.net:8560")]
    PortMissing,
    /// The port is no number of a port.
    #[error("the port is not a number from 1 to 65535")]
    Port,
    /// An IPv6 address stands without brackets.
    #[error("an IPv6 address must stand in brackets, as in [::1]:8560")]
    Brackets,
    /// The text in brackets is not an IPv6 address.
    #[error("there is no IPv6 address in the brackets")]
    Ipv6,
    /// The host is all numbers and yet no IPv4 address.
    #[error("the host is not an IPv4 address")]
    Ipv4,
    /// The host is no DNS name.
    #[error("the host is not a DNS name")]
    Name,
    /// The address demands TLS, which is not configured.
    #[error("https demands TLS, which is not configured")]
    TlsMissing,
}

impl Address {
    /// The host: a DNS name, or an IP address without brackets.
    pub fn host(&self) -> String {
        match &self.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
        }
    }

    /// The host as a certificate names it.
    pub(crate) fn certified_host(&self) -> String {
        let host = self.host();
        host.strip_suffix('.').map_or(host.clone(), str::to_owned)
    }

    /// The port, never 0.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host if it is an IP address.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.host {
            Host::Ip(ip) => Some(ip),
            Host::Name(_) => None,
        }
    }

    /// Whether the address begins with `https`.
    pub fn demands_tls(&self) -> bool {
        self.demands_tls
    }

    /// Whether the address can only be this machine: an IP address of the loopback interface, or `localhost`.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Ip(ip) => ip.to_canonical().is_loopback(),
            Host::Name(name) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
        }
    }

    pub(crate) fn refused(&self, problem: AddressProblem) -> InvalidAddress {
        InvalidAddress {
            address: self.to_string(),
            problem,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
            Host::Ip(IpAddr::V4(ip)) => write!(f, "{ip}:{}", self.port),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        parse(text).map_err(|problem| InvalidAddress {
            address: without_credentials(text).to_owned(),
            problem,
        })
    }
}

/// A URL may hold a password in front of the host, which must not get into an error.
fn without_credentials(text: &str) -> &str {
    text.rsplit_once('@').map_or(text, |(_, rest)| rest)
}

fn parse(text: &str) -> Result<Address, AddressProblem> {
    let (demands_tls, rest) = match text.split_once("://") {
        None => (false, text),
        Some((scheme, rest)) => {
            let tls = match scheme.to_ascii_lowercase().as_str() {
                "http" => false,
                "https" => true,
                _ => return Err(AddressProblem::Scheme),
            };
            (tls, rest.strip_suffix('/').unwrap_or(rest))
        }
    };
    if rest.is_empty() {
        return Err(AddressProblem::Empty);
    }
    if rest.contains(['/', '?', '#', '@']) {
        return Err(AddressProblem::Surplus);
    }
    let (host, port) = if let Some(rest) = rest.strip_prefix('[') {
        let (ip, rest) = rest.split_once(']').ok_or(AddressProblem::Ipv6)?;
        let ip: Ipv6Addr = ip.parse().map_err(|_error| AddressProblem::Ipv6)?;
        let port = rest.strip_prefix(':').ok_or(AddressProblem::PortMissing)?;
        (Host::Ip(ip.into()), port)
    } else {
        let (host, port) = rest.split_once(':').ok_or(AddressProblem::PortMissing)?;
        if port.contains(':') {
            return Err(AddressProblem::Brackets);
        }
        (named(host)?, port)
    };
    let port = match port.parse() {
        Ok(port) if port != 0 => port,
        _ => return Err(AddressProblem::Port),
    };
    Ok(Address {
        host,
        port,
        demands_tls,
    })
}

fn named(host: &str) -> Result<Host, AddressProblem> {
    if let Ok(ip) = host.parse::<Ipv4Addr>() {
        return Ok(Host::Ip(ip.into()));
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    // No top-level domain is a number, so this is a mistyped IPv4 address.
    if !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return Err(AddressProblem::Ipv4);
    }
    // The measure is what a certificate can be checked for, with or without TLS.
    if DnsName::try_from(name).is_err() {
        return Err(AddressProblem::Name);
    }
    Ok(Host::Name(host.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_one_address() {
        let cases = [
            ("10.0.0.1:8560", "10.0.0.1:8560", false, false),
            ("http://10.0.0.1:8560/", "10.0.0.1:8560", false, false),
            ("https://db.example.net:1", "db.example.net:1", true, false),
            ("[::1]:8560", "[::1]:8560", false, true),
            ("HTTP://[fd00::2]:65535", "[fd00::2]:65535", false, false),
            ("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", false, true),
            ("LocalHost.:8560", "LocalHost.:8560", false, true),
            ("127.9.9.9:1", "127.9.9.9:1", false, true),
            ("cts_scheduler-1:8560", "cts_scheduler-1:8560", false, false),
        ];
        for (text, shown, tls, loopback) in cases {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert_eq!(
                (address.demands_tls(), address.is_loopback()),
                (tls, loopback),
                "{text}"
            );
        }
    }

    #[test]
    fn a_bad_address_is_told_what_is_wrong() {
        use AddressProblem as Problem;
        let cases = [
            ("", Problem::Empty),
            ("http://", Problem::Empty),
            ("grpc://a:1", Problem::Scheme),
            ("a:1/path", Problem::Surplus),
            ("http://a:1/?x", Problem::Surplus),
            ("scheduler", Problem::PortMissing),
            ("[::1]", Problem::PortMissing),
            ("a:", Problem::Port),
            ("a:0", Problem::Port),
            ("a:65536", Problem::Port),
            ("[::1]:x", Problem::Port),
            ("::1:8560", Problem::Brackets),
            ("[::1:8560", Problem::Ipv6),
            ("[10.0.0.1]:8560", Problem::Ipv6),
            ("10.0.0.300:8560", Problem::Ipv4),
            (":8560", Problem::Name),
            ("a b:1", Problem::Name),
            ("a..b:1", Problem::Name),
        ];
        for (text, problem) in cases {
            let error = text.parse::<Address>().unwrap_err();
            assert_eq!(error.problem, problem, "{text}");
        }
    }

    #[test]
    fn a_password_stays_out_of_the_error() {
        let error = "http://cts:secret@a:1".parse::<Address>().unwrap_err();
        assert_eq!(
            error.to_string(),
            r#""a:1" is not the address of a service"#
        );
    }
}
