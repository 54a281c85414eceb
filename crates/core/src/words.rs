//! Values that every other room uses: names, digests, times, texts. Nothing here imports another room.

pub(crate) mod absence;
pub(crate) mod backoff;
pub(crate) mod chain;
pub(crate) mod clock;
pub(crate) mod cron;
pub(crate) mod digest;
pub(crate) mod error_code;
pub(crate) mod excerpt;
pub(crate) mod file_error;
pub(crate) mod generated;
pub mod go;
pub(crate) mod identity;
pub(crate) mod log_level;
pub(crate) mod regexp;
pub(crate) mod size;
pub(crate) mod spelled;
pub(crate) mod timeouts;
pub(crate) mod trace;
