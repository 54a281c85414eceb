//! Finds the client of a request, where limits hold for each client (docs/rest.md#limits).

use std::net::IpAddr;

use cts_listen::client_key;
use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;
use rfc7239::NodeName;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Finds the client of a connection.
#[derive(Debug)]
pub(crate) struct Clients {
    trusted: Vec<IpNet>,
}

impl Clients {
    /// Addresses in `trusted` are proxies, which name the client that they forward for.
    pub(crate) fn new(trusted: Vec<IpNet>) -> Self {
        Self { trusted }
    }

    /// The client of a request that has come from `peer` with these headers. `None`: no limit for one client
    /// holds.
    ///
    /// Each proxy appends the address that it sees to the ones that it received, so the last address that
    /// does not belong to a trusted proxy can be believed.
    pub(crate) fn of(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        client_key(self.stranger(peer, headers)?)
    }

    /// The address of the client, for records: that of the last proxy, if this names none.
    pub(crate) fn address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let client = self.stranger(peer, headers).unwrap_or(peer);
        client.to_canonical()
    }

    /// The last address that does not belong to a trusted proxy.
    fn stranger(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.is_trusted(peer) {
            return Some(peer);
        }
        let forwarded = forwarded(headers).unwrap_or_else(|| x_forwarded(headers));
        let stranger = forwarded
            .into_iter()
            .rev()
            .find(|address| address.is_none_or(|address| !self.is_trusted(address)));
        stranger?
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted.iter().any(|net| net.contains(&address))
    }
}

/// Addresses of `Forwarded`, `None` for names and for elements that cannot be read.
fn forwarded(headers: &HeaderMap) -> Option<Vec<Option<IpAddr>>> {
    let mut lines = headers.get_all(header::FORWARDED).iter().peekable();
    lines.peek()?;
    let texts = lines.map(|line| line.to_str().unwrap_or_default());
    let elements = texts.flat_map(rfc7239::parse);
    let addresses = elements.map(|element| match element.ok()?.forwarded_for?.name {
        NodeName::Ip(address) => Some(address),
        NodeName::Unknown | NodeName::Obfuscated(_) => None,
    });
    Some(addresses.collect())
}

/// Addresses of `X-Forwarded-For`, `None` for unreadable ones.
fn x_forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(X_FORWARDED_FOR).iter();
    let texts = lines.map(|line| line.to_str().unwrap_or_default());
    texts
        .flat_map(|text| text.split(','))
        .map(|address| address.trim().parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: &str = "10.0.0.1";

    /// A peer, the headers of its request, and its client.
    type Case<'a> = (&'a str, &'a [(&'static str, &'a str)], Option<&'a str>);

    fn of(peer: &str, lines: &[(&'static str, &str)]) -> Option<String> {
        let clients = Clients::new(vec!["10.0.0.0/24".parse().unwrap()]);
        let headers = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let client = clients.of(peer.parse().unwrap(), &headers)?;
        Some(client.to_string())
    }

    #[test]
    fn a_client_is_the_last_address_that_is_no_proxys() {
        let cases: [Case<'_>; 12] = [
            ("192.0.2.7", &[], Some("192.0.2.7")),
            (
                "192.0.2.7",
                &[("forwarded", "for=192.0.2.8")],
                Some("192.0.2.7"),
            ),
            ("127.0.0.1", &[("forwarded", "for=192.0.2.8")], None),
            (PROXY, &[], None),
            (
                "::ffff:10.0.0.1",
                &[("forwarded", "for=192.0.2.8")],
                Some("192.0.2.8"),
            ),
            (
                PROXY,
                &[("forwarded", "for=192.0.2.9, for=192.0.2.8;proto=https")],
                Some("192.0.2.8"),
            ),
            (
                PROXY,
                &[
                    ("forwarded", "for=192.0.2.9"),
                    ("forwarded", "for=192.0.2.8, for=10.0.0.9"),
                ],
                Some("192.0.2.8"),
            ),
            (
                PROXY,
                &[("forwarded", "for=\"[2001:db8::1]:4711\"")],
                Some("2001:db8::"),
            ),
            (PROXY, &[("forwarded", "for=192.0.2.8, for=unknown")], None),
            (PROXY, &[("forwarded", "for=192.0.2.8, =;garbage")], None),
            (
                PROXY,
                &[("x-forwarded-for", "192.0.2.9, 192.0.2.8, 10.0.0.3")],
                Some("192.0.2.8"),
            ),
            (
                PROXY,
                &[
                    ("x-forwarded-for", "192.0.2.9"),
                    ("forwarded", "for=192.0.2.8"),
                ],
                Some("192.0.2.8"),
            ),
        ];
        for (peer, headers, expected) in cases {
            assert_eq!(of(peer, headers).as_deref(), expected, "{peer} {headers:?}");
        }
    }
}
