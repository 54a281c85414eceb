//! `gateway`, a cts-only block.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::blocks::client_limits::{GatewayLimits, decode_gateway_limits};
use crate::decode::block::Block;
use crate::decode::coerce;

const MODES: [(&str, GatewayMode); 2] = [
    ("transparent", GatewayMode::Transparent),
    ("strict-follower", GatewayMode::StrictFollower),
];

const FORWARDED_HEADERS: [(&str, ForwardedHeader); 2] = [
    ("X-Forwarded-For", ForwardedHeader::XForwardedFor),
    ("Forwarded", ForwardedHeader::Forwarded),
];

/// Mode of the API's answers, and the proxies that it trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GatewayConfig {
    /// `mode`.
    pub mode: GatewayMode,
    /// `trusted_proxies`: addresses and networks of proxies whose requests name the client that they forward
    /// for.
    pub trusted_proxies: Vec<IpNet>,
    /// `forwarded_header`: the one header in which they name it.
    pub forwarded_header: ForwardedHeader,
    /// `limits`.
    pub limits: GatewayLimits,
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

pub(crate) fn decode_gateway(mut block: Block<'_>) -> GatewayConfig {
    let mode = block.choice("mode", &MODES);
    let header = block.choice("forwarded_header", &FORWARDED_HEADERS);
    let gateway = GatewayConfig {
        mode: mode.map(|mode| mode.value).unwrap_or_default(),
        trusted_proxies: decode_networks(&mut block, "trusted_proxies"),
        forwarded_header: header.map(|header| header.value).unwrap_or_default(),
        limits: decode_gateway_limits(block.block_or_empty("limits")),
    };
    block.finish();
    gateway
}

fn decode_networks(block: &mut Block<'_>, name: &'static str) -> Vec<IpNet> {
    let written = block.items(name);
    let mut networks = Vec::new();
    for text in written {
        let address = text.value.parse::<IpAddr>().map(IpNet::from);
        match address.or_else(|_no_address| text.value.parse()) {
            Ok(network) => networks.push(network),
            Err(_no_network) => {
                let message = format!(
                    "{} in `{}` is no address such as \"10.0.0.1\" and no network such as \"10.0.0.0/24\"",
                    coerce::quoted(&text.value),
                    block.path_of(name)
                );
                block.sink().error(&text.place, message);
            }
        }
    }
    networks
}
