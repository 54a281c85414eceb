//! Limits of a task on the loss of instances: cts-only keys in tasks (docs/configuration.md#task).

use std::ops::RangeInclusive;

use cts_core::{InvalidMaxShrink, MaxShrink, ShrinkLimit};

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::{Located, Place};

const MIN_INSTANCES: &str = "min_instances";
const MAX_SHRINK: &str = "max_shrink";
const LIMITS: RangeInclusive<u32> = 1..=1_000_000;

/// The keys as written.
#[derive(Debug, Default)]
pub(crate) struct RawGuard {
    min_instances: Option<Located<u32>>,
    max_shrink: Option<Located<MaxShrink>>,
}

impl RawGuard {
    pub(crate) fn decode(block: &mut Block<'_>) -> Self {
        Self {
            min_instances: block.located_number_within(MIN_INSTANCES, &LIMITS),
            max_shrink: max_shrink(block),
        }
    }

    /// The limits as written.
    pub(crate) fn value(&self) -> ShrinkLimit {
        ShrinkLimit {
            min_instances: self.min_instances.as_ref().map(|min| min.value),
            max_shrink: self.max_shrink.as_ref().map(|max| max.value),
        }
    }

    /// The keys that are written, with their places.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'static str, &Place)> {
        let min = self.min_instances.as_ref();
        let max = self.max_shrink.as_ref();
        let min = min.map(|min| (MIN_INSTANCES, &min.place));
        min.into_iter()
            .chain(max.map(|max| (MAX_SHRINK, &max.place)))
    }
}

fn max_shrink(block: &mut Block<'_>) -> Option<Located<MaxShrink>> {
    let Located { value, place } = block.take(MAX_SHRINK, coerce::text)?;
    if let Ok(value) = value.parse() {
        return Some(Located { value, place });
    }
    let path = block.path_of(MAX_SHRINK);
    let found = coerce::quoted(&value);
    let message = format!("`{path}` is {found}: {InvalidMaxShrink}");
    block.sink().error(&place, message);
    None
}
