//! `security.audit`: the records of calls (docs/access.md#audit).

use std::path::PathBuf;
use std::time::Duration;

use crate::settings::settings;

settings! {
    /// How long audit records are kept, and where else they go.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AuditConfig {
        /// `kept_for`: from an hour to ten years; a year by default.
        pub kept_for: Duration = Duration::from_hours(365 * 24)
            => duration(&(Duration::from_hours(1)..=Duration::from_hours(10 * 365 * 24))),
        /// `kept`: records that the table holds at most, from 1,000 to 10,000,000; 100,000 by default.
        pub kept: u32 = 100_000 => number(&(1_000..=10_000_000)),
        /// `file`, absolute: gets each record as a line of JSON.
        pub file: Option<PathBuf> = None => path,
    }
}
