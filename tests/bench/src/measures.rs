//! What is measured, and how it is reported.

pub(crate) mod clock;
pub(crate) mod report;
pub(crate) mod sample;
pub(crate) mod usage;
