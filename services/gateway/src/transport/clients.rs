//! Finds the client of a request, where limits hold for each client (docs/rest.md#limits).

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use cts_listen::client_key;
use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;
use rfc7239::NodeName;

use crate::options::ForwardedHeader;

/// Headers in which proxies name the client that they forward for.
pub(crate) const FORWARDED_HEADERS: [HeaderName; 2] = [X_FORWARDED_FOR, header::FORWARDED];

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Finds the client of a connection.
#[derive(Debug)]
pub(crate) struct Clients {
    trusted: Vec<IpNet>,
    header: ForwardedHeader,
    /// Whether the log has mentioned a proxy that sends only the other header.
    has_warned: AtomicBool,
}

impl Clients {
    /// Addresses in `trusted` are proxies, which name the client that they forward for in `header`. A client can send
    /// the other header itself, so the other header does not count.
    pub(crate) fn new(trusted: Vec<IpNet>, header: ForwardedHeader) -> Self {
        Self {
            trusted,
            header,
            has_warned: AtomicBool::new(false),
        }
    }

    /// The client of a request that has come from `peer` with these headers. `None`: no limit per client applies.
    ///
    /// Each proxy appends the address of its peer to the received addresses, so the last address that does not belong
    /// to a trusted proxy is credible.
    pub(crate) fn of(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        client_key(self.stranger(peer, headers)?)
    }

    /// The address of the client, for records; the address of the last proxy, if that proxy names no client.
    pub(crate) fn address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let client = self.stranger(peer, headers).unwrap_or(peer);
        client.to_canonical()
    }

    /// Whether a trusted proxy has forwarded a request from `peer` with these headers.
    pub(crate) fn is_forwarded(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        let name = match self.header {
            ForwardedHeader::XForwardedFor => X_FORWARDED_FOR,
            ForwardedHeader::Forwarded => header::FORWARDED,
        };
        self.is_trusted(peer) && headers.contains_key(name)
    }

    /// The last address that does not belong to a trusted proxy.
    fn stranger(&self, peer: IpAddr, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.is_trusted(peer) {
            return Some(peer);
        }
        let forwarded = match self.header {
            ForwardedHeader::XForwardedFor => x_forwarded(headers),
            ForwardedHeader::Forwarded => forwarded(headers),
        };
        self.warn_of_other_header(peer, headers);
        let stranger = forwarded
            .into_iter()
            .rev()
            .find(|address| address.is_none_or(|address| !self.is_trusted(address)));
        stranger?
    }

    /// Warns once if a proxy sends only the header that does not count.
    fn warn_of_other_header(&self, proxy: IpAddr, headers: &HeaderMap) {
        let (counts, other) = match self.header {
            ForwardedHeader::XForwardedFor => (X_FORWARDED_FOR, header::FORWARDED),
            ForwardedHeader::Forwarded => (header::FORWARDED, X_FORWARDED_FOR),
        };
        if headers.contains_key(&other)
            && !headers.contains_key(&counts)
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                target: "api",
                %proxy,
                "a trusted proxy sends {other} and not {counts}, so its clients are unknown: see gateway.forwarded_header"
            );
        }
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.trusted.iter().any(|net| net.contains(&address))
    }
}

/// Addresses of `Forwarded`, `None` for names and for elements that cannot be read.
fn forwarded(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(header::FORWARDED).iter();
    let texts = lines.map(|line| line.to_str().unwrap_or_default());
    let elements = texts.flat_map(rfc7239::parse);
    let addresses = elements.map(|element| match element.ok()?.forwarded_for?.name {
        NodeName::Ip(address) => Some(address),
        NodeName::Unknown | NodeName::Obfuscated(_) => None,
    });
    addresses.collect()
}

/// Addresses of `X-Forwarded-For`, `None` for unreadable addresses.
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

    fn of(
        header: ForwardedHeader,
        peer: &str,
        lines: &[(&'static str, &str)],
    ) -> (Option<String>, bool) {
        let clients = Clients::new(vec!["10.0.0.0/24".parse().unwrap()], header);
        let headers = lines
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let client = clients.of(peer.parse().unwrap(), &headers);
        let has_warned = clients.has_warned.load(Ordering::Relaxed);
        (client.map(|client| client.to_string()), has_warned)
    }

    fn assert_clients(header: ForwardedHeader, cases: &[Case<'_>]) {
        for &(peer, headers, expected) in cases {
            let (client, has_warned) = of(header, peer, headers);
            assert_eq!(client.as_deref(), expected, "{peer} {headers:?}");
            assert!(!has_warned, "{peer} {headers:?}");
        }
    }

    #[test]
    fn a_client_is_the_last_address_that_is_no_proxys() {
        assert_clients(
            ForwardedHeader::Forwarded,
            &[
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
            ],
        );
        assert_clients(
            ForwardedHeader::XForwardedFor,
            &[
                (PROXY, &[], None),
                (
                    "192.0.2.7",
                    &[("x-forwarded-for", "192.0.2.8")],
                    Some("192.0.2.7"),
                ),
                (
                    PROXY,
                    &[("x-forwarded-for", "192.0.2.9, 192.0.2.8, 10.0.0.3")],
                    Some("192.0.2.8"),
                ),
                (PROXY, &[("x-forwarded-for", "192.0.2.8, unknown")], None),
            ],
        );
    }

    #[test]
    fn the_other_header_comes_from_the_client_and_does_not_count() {
        let both = [
            ("x-forwarded-for", "192.0.2.7"),
            ("forwarded", "for=192.0.2.8"),
        ];
        assert_clients(
            ForwardedHeader::XForwardedFor,
            &[(PROXY, &both, Some("192.0.2.7"))],
        );
        assert_clients(
            ForwardedHeader::Forwarded,
            &[(PROXY, &both, Some("192.0.2.8"))],
        );
    }

    #[test]
    fn a_proxy_that_sends_only_the_other_header_is_warned_of() {
        for (header, line, peer, warns) in [
            (
                ForwardedHeader::XForwardedFor,
                ("forwarded", "for=192.0.2.8"),
                PROXY,
                true,
            ),
            (
                ForwardedHeader::Forwarded,
                ("x-forwarded-for", "192.0.2.8"),
                PROXY,
                true,
            ),
            (
                ForwardedHeader::XForwardedFor,
                ("forwarded", "for=192.0.2.8"),
                "192.0.2.7",
                false,
            ),
        ] {
            let (client, has_warned) = of(header, peer, &[line]);
            assert_eq!(
                client.as_deref(),
                (peer != PROXY).then_some(peer),
                "{line:?}"
            );
            assert_eq!(has_warned, warns, "{line:?}");
        }
    }
}
