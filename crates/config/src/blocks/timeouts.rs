//! How long the steps of Terraform may take: cts-only keys, in `driver "terraform"` and in tasks.

use std::ops::RangeInclusive;
use std::time::Duration;

use cts_core::{StepTimeouts, TaskTimeouts};

use crate::decode::block::Block;
use crate::report::location::{Located, Place};

const LIMITS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_hours(30 * 24);

/// The keys as written.
#[derive(Debug, Default)]
pub(crate) struct RawTimeouts {
    init: Option<Located<Duration>>,
    plan: Option<Located<Duration>>,
    apply: Option<Located<Duration>>,
}

impl RawTimeouts {
    pub(crate) fn decode(block: &mut Block<'_>) -> Self {
        Self {
            init: block.duration_within("init_timeout", &LIMITS),
            plan: block.duration_within("plan_timeout", &LIMITS),
            apply: block.duration_within("apply_timeout", &LIMITS),
        }
    }

    /// The timeouts as written.
    pub(crate) fn values(&self) -> TaskTimeouts {
        let value = |written: &Option<Located<Duration>>| written.as_ref().map(|it| it.value);
        TaskTimeouts {
            init: value(&self.init),
            plan: value(&self.plan),
            apply: value(&self.apply),
        }
    }

    /// The timeouts as written, and the defaults for the rest.
    pub(crate) fn or_default(&self) -> StepTimeouts {
        self.values().or(StepTimeouts::default())
    }

    /// The keys that are written, with their places.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'static str, &Place)> {
        let keys = [
            ("init_timeout", &self.init),
            ("plan_timeout", &self.plan),
            ("apply_timeout", &self.apply),
        ];
        keys.into_iter()
            .filter_map(|(key, written)| written.as_ref().map(|written| (key, &written.place)))
    }
}
