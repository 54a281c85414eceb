//! `buffer_period`, at the top and in tasks (`docs/configuration.md#buffer_period`).

use std::time::Duration;

use cts_core::BufferSetting;

use crate::decode::block::Block;
use crate::report::location::Located;
use crate::tasks::checks;

/// Reads the `buffer_period` of `parent`, if it has one. The core decides how it resolves.
pub(crate) fn decode_buffer(parent: &mut Block<'_>) -> Option<BufferSetting> {
    Some(decode_located_buffer(parent)?.value)
}

/// Reads the `buffer_period` of `parent` together with the place of the block.
pub(crate) fn decode_located_buffer(parent: &mut Block<'_>) -> Option<Located<BufferSetting>> {
    let mut block = parent.block("buffer_period")?;
    let place = block.place().cloned()?;
    let enabled = block.flag("enabled");
    let on = enabled != Some(false);
    let min = positive(&mut block, "min", on);
    let max = positive(&mut block, "max", on);
    block.finish();
    let value = BufferSetting { enabled, min, max };
    Some(Located { value, place })
}

/// A duration that must not be negative, unless buffering is off and it does not count.
fn positive(block: &mut Block<'_>, name: &'static str, on: bool) -> Option<Duration> {
    let written = block.duration(name)?;
    match u64::try_from(written.value) {
        Ok(nanoseconds) => Some(Duration::from_nanos(nanoseconds)),
        Err(_negative) => {
            if on {
                let message = checks::negative_buffer(name);
                block.sink().error(&written.place, message);
            }
            None
        }
    }
}
