//! `security.audit`: the records of calls (docs/access.md#audit).

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::keys::{Keyed, Keys};

const KEPT_FOR_LIMITS: RangeInclusive<Duration> =
    Duration::from_hours(1)..=Duration::from_hours(10 * 365 * 24);
const KEPT_LIMITS: RangeInclusive<u32> = 1_000..=10_000_000;

/// How long audit records are kept, and where else they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditConfig {
    /// `kept_for`: from an hour to ten years; a year by default.
    pub kept_for: Duration,
    /// `kept`: records that the table holds at most, from 1,000 to 10,000,000; 100,000 by default.
    pub kept: u32,
    /// `file`, absolute: gets each record as a line of JSON.
    pub file: Option<PathBuf>,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            kept_for: Duration::from_hours(365 * 24),
            kept: 100_000,
            file: None,
        }
    }
}

impl Keyed for AuditConfig {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        keys.duration("kept_for", &mut self.kept_for, &KEPT_FOR_LIMITS);
        keys.number("kept", &mut self.kept, &KEPT_LIMITS);
        keys.path("file", &mut self.file);
    }
}
