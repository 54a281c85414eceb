//! `security.audit`: the records of calls (docs/access.md#audit).

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::decode::block::Block;

/// A year.
const DEFAULT_KEPT_FOR: Duration = Duration::from_hours(365 * 24);
const KEPT_FOR_LIMITS: RangeInclusive<Duration> =
    Duration::from_hours(1)..=Duration::from_hours(10 * 365 * 24);

const DEFAULT_KEPT: u32 = 100_000;
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
            kept_for: DEFAULT_KEPT_FOR,
            kept: DEFAULT_KEPT,
            file: None,
        }
    }
}

pub(crate) fn decode_audit(block: Option<Block<'_>>, current_dir: &Path) -> AuditConfig {
    let default = AuditConfig::default();
    let Some(mut block) = block else {
        return default;
    };
    let kept_for = block.duration_within("kept_for", &KEPT_FOR_LIMITS);
    let kept = block.number_within("kept", &KEPT_LIMITS);
    let file = block.path("file", current_dir);
    block.finish();
    AuditConfig {
        kept_for: kept_for.unwrap_or(default.kept_for),
        kept: kept.unwrap_or(default.kept),
        file,
    }
}
