//! How long the steps of Terraform may take: cts-only keys, in `driver "terraform"` and in tasks.

use std::ops::RangeInclusive;
use std::time::Duration;

use cts_core::StepTimeouts;

use crate::decode::block::Block;
use crate::report::location::Located;

const LIMITS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(30 * 24);

/// Reads one of the keys.
pub(crate) fn read(block: &mut Block<'_>, name: &'static str) -> Option<Located<Duration>> {
    block.located_duration_within(name, &LIMITS)
}

/// Reads the keys of the driver.
pub(crate) fn decode_timeouts(block: &mut Block<'_>) -> StepTimeouts {
    let default = StepTimeouts::default();
    let mut or = |name, default| read(block, name).map_or(default, |written| written.value);
    StepTimeouts {
        init: or("init_timeout", default.init),
        plan: or("plan_timeout", default.plan),
        apply: or("apply_timeout", default.apply),
    }
}
