//! `gateway`, a cts-only block, and the page that it serves.

mod page;

use std::net::IpAddr;

use ipnet::IpNet;

pub(crate) use self::page::decode_page;
pub use self::page::{LoginToken, PageConfig, PageLoginConfig};
use crate::blocks::client_limits::GatewayLimits;
use crate::settings::settings;

const MODES: [(&str, GatewayMode); 2] = [
    ("transparent", GatewayMode::Transparent),
    ("strict-follower", GatewayMode::StrictFollower),
];

const FORWARDED_HEADERS: [(&str, ForwardedHeader); 2] = [
    ("X-Forwarded-For", ForwardedHeader::XForwardedFor),
    ("Forwarded", ForwardedHeader::Forwarded),
];

settings! {
    /// Mode of the API's answers, and the proxies that it trusts.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct GatewayConfig {
        /// `mode`.
        pub mode: GatewayMode = GatewayMode::default() => choice(&MODES),
        /// `trusted_proxies`: addresses and networks of proxies whose requests name the client that they forward
        /// for.
        pub trusted_proxies: Vec<IpNet> = Vec::new() => list(network),
        /// `forwarded_header`: the one header in which they name it.
        pub forwarded_header: ForwardedHeader = ForwardedHeader::default()
            => choice(&FORWARDED_HEADERS),
        /// `limits`.
        pub limits: GatewayLimits = GatewayLimits::default() => block,
    }
}

/// The answers of a gateway for a scheduler that is not the leader (docs/rest.md#strict-followers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GatewayMode {
    /// Answers as the leader would.
    #[default]
    Transparent,
    /// The refusals that followers of the original give (docs/rest.md#strict-followers).
    StrictFollower,
}

/// A header in which proxies name the client that they forward for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

fn network(text: &str) -> Result<IpNet, String> {
    let address = text.parse::<IpAddr>().map(IpNet::from);
    address
        .or_else(|_no_address| text.parse())
        .map_err(|_no_network| {
            "is no address such as \"10.0.0.1\" and no network such as \"10.0.0.0/24\"".to_owned()
        })
}
