//! Housekeeping: old runs, bundles, logs and archives.

pub(crate) mod archive;
pub mod bundles;
pub mod housekeeping;
pub(crate) mod log_space;
pub(crate) mod prune;
pub(crate) mod times;
