//! Measured values and their reports.

pub(crate) mod clock;
pub(crate) mod report;
pub(crate) mod sample;
pub(crate) mod usage;
