//! `buffer_period`, at the top and in tasks (`docs/configuration.md#buffer_period`).

use std::time::Duration;

use cts_core::BufferSetting;

use crate::decode::block::Block;
use crate::report::location::Located;

/// Reads the global `buffer_period`, if there is one. The core decides how it resolves.
pub(crate) fn decode_buffer(top: &mut Block<'_>) -> Option<BufferSetting> {
    Some(decode(top, raised)?.value)
}

/// Reads the `buffer_period` of a task together with the place of the block.
pub(crate) fn decode_located_buffer(task: &mut Block<'_>) -> Option<Located<BufferSetting>> {
    decode(task, |block, on| positive(block, "max", on))
}

fn decode(
    parent: &mut Block<'_>,
    max: impl Fn(&mut Block<'_>, bool) -> Option<Duration>,
) -> Option<Located<BufferSetting>> {
    let mut block = parent.block("buffer_period")?;
    let place = block.place().cloned()?;
    let enabled = block.flag("enabled");
    let on = enabled != Some(false);
    let min = positive(&mut block, "min", on);
    let max = max(&mut block, on);
    block.finish();
    let value = BufferSetting { enabled, min, max };
    Some(Located { value, place })
}

/// The global `max`. A negative one passes in the original, which raises it to `min`.
fn raised(block: &mut Block<'_>, on: bool) -> Option<Duration> {
    let written = block.duration("max")?;
    if written.value < 0 && on {
        let message = "`max` of the `buffer_period` is negative, so `min` counts in its place";
        block.sink().warning(&written.place, message);
    }
    let nanoseconds = u64::try_from(written.value).unwrap_or_default();
    Some(Duration::from_nanos(nanoseconds))
}

/// A duration that must not be negative, unless buffering is off and it does not count.
fn positive(block: &mut Block<'_>, name: &'static str, on: bool) -> Option<Duration> {
    let written = block.duration(name)?;
    match u64::try_from(written.value) {
        Ok(nanoseconds) => Some(Duration::from_nanos(nanoseconds)),
        Err(_negative) => {
            if on {
                let message = negative_buffer(name);
                block.sink().error(&written.place, message);
            }
            None
        }
    }
}

/// The error for a time of a `buffer_period` that is negative.
pub(crate) fn negative_buffer(name: &str) -> String {
    format!("buffer_period: cannot be negative, and `{name}` is")
}
