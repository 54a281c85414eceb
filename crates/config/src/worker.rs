//! `worker`: a block of ours, which the original does not have.

use std::num::NonZeroUsize;

use crate::block::Block;
use crate::coerce;

/// Runs at a time that nobody means seriously on one machine.
const MOST_SLOTS: i64 = 1024;

/// `worker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkerConfig {
    /// `slots`: how many runs one worker works on at a time; unset, twice the number of processors.
    pub slots: Option<NonZeroUsize>,
}

pub(crate) fn decode_worker(block: Option<Block<'_>>) -> WorkerConfig {
    let Some(mut block) = block else {
        return WorkerConfig::default();
    };
    let slots = block.take("slots", coerce::integer).and_then(|written| {
        let slots = usize::try_from(written.value)
            .ok()
            .and_then(NonZeroUsize::new);
        if slots.is_none() || written.value > MOST_SLOTS {
            let message = format!(
                "`slots` must be between 1 and {MOST_SLOTS}, not {}",
                written.value
            );
            block.sink().error(&written.place, message);
        }
        slots
    });
    block.finish();
    WorkerConfig { slots }
}
