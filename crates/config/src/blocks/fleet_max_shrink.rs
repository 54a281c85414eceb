//! `fleet_max_shrink`, a cts-only block: the brake of the fleet (docs/runs.md#the-brake-of-the-fleet).

use std::ops::RangeInclusive;
use std::time::Duration;

use cts_core::brake::FleetMaxShrink;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::keys::{Keyed, Keys, read};
use crate::report::location::Located;

const WITHIN: RangeInclusive<Duration> = Duration::from_mins(1)..=Duration::from_hours(24);

/// A block without keys.
pub(crate) const DEFAULT: FleetMaxShrink = FleetMaxShrink {
    share: 20,
    within: Duration::from_mins(10),
    at_least: 20,
};

impl Keyed for FleetMaxShrink {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.key("share", &mut self.share, share, |share| {
            Some(format!("{share}%"))
        });
        keys.whole_seconds("within", &mut self.within, &WITHIN);
        keys.number("at_least", &mut self.at_least, &(1..=1_000_000));
    }
}

/// Reads the block, without which the brake is off.
pub(crate) fn decode_fleet_max_shrink(block: Option<Block<'_>>) -> Option<FleetMaxShrink> {
    block.map(|block| read(DEFAULT, block))
}

fn share(block: &mut Block<'_>, name: &'static str) -> Option<Located<u8>> {
    let written = block.take(name, coerce::text)?;
    let Some(percent) = written.value.strip_suffix('%').and_then(percent) else {
        let problem = "is no percentage between \"1%\" and \"100%\"";
        block.refuse(name, &written, problem);
        return None;
    };
    Some(written.map(|_text| percent))
}

/// Reads a number from 1 to 100. The number parser of the standard library accepts a sign.
fn percent(digits: &str) -> Option<u8> {
    let percent = digits.parse().ok()?;
    let is_valid = !digits.starts_with('+') && (1..=100).contains(&percent);
    is_valid.then_some(percent)
}
