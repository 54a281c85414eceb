//! `gateway`, a block of ours.

use crate::block::Block;

const MODES: [(&str, GatewayMode); 2] = [
    ("transparent", GatewayMode::Transparent),
    ("strict-follower", GatewayMode::StrictFollower),
];

/// How the API answers where there are several schedulers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatewayConfig {
    /// `mode`.
    pub mode: GatewayMode,
}

/// What a gateway answers for a scheduler that is not the leader (docs/rest.md#strict-followers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GatewayMode {
    /// The same as the leader would.
    #[default]
    Transparent,
    /// The refusals that followers of the original give (docs/rest.md#strict-followers).
    StrictFollower,
}

pub(crate) fn decode_gateway(block: Option<Block<'_>>) -> GatewayConfig {
    let Some(mut block) = block else {
        return GatewayConfig::default();
    };
    let mode = block.choice("mode", &MODES);
    let mode = mode.map(|mode| mode.value).unwrap_or_default();
    block.finish();
    GatewayConfig { mode }
}
