//! The structured plan of an engine, read into data without secrets, with the effect of the plan
//! (docs/runs.md#plans-as-data).

mod context;
mod effect_parts;
mod extent;
mod format;
mod json;
mod leaves;
mod meter;
mod pipe;
mod read;
mod reading;
mod secrets;
mod stream;
#[cfg(test)]
mod tests;

pub use context::{PlanContext, Redact};
pub use extent::{MOST_PLAN_BYTES, counts_only, without_attributes};
pub use read::ReadPlan;

pub(crate) use pipe::PlanPipe;
pub(crate) use read::{Limits, ReadEnd, TOO_SLOW, read};
