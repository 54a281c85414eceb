//! Inputs of the configuration that come from the process.

use std::collections::BTreeMap;
use std::path::Path;

use chrono::{DateTime, Utc};

/// Inputs of the configuration besides its files.
#[derive(Debug, Clone, Copy)]
pub struct LoadContext<'a> {
    /// The environment of the process.
    pub environment: &'a BTreeMap<String, String>,
    /// The absolute directory to which relative paths refer.
    pub current_dir: &'a Path,
    /// Name of this machine, for the default `id`.
    pub hostname: &'a str,
    /// The present, to find schedules that never fire again.
    pub now: DateTime<Utc>,
}
