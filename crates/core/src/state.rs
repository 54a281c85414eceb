//! Whose Terraform state is it: which state a task may go on with, and when its state moves to another backend.
//!
//! A state is known by its lineage, which Terraform makes once, and by its serial, which increases with each change. The
//! text of a backend block is no part of that. After each apply a run reports both, and its task keeps them
//! ([`StateRecord`]). A worker whose directory is not initialised for the backend reads the state there and lets [`decide`]
//! say what to do before the first apply. See docs/rest.md#the-state-of-a-task.

mod decision;
mod record;

pub use decision::{Decision, Refusal, Source, decide, decide_from, lapse};
pub use record::{
    InvalidLineage, Keep, KnownState, LINEAGE_LIMIT, StateAt, StateConflict, StateDecision,
    StateRecord, StateReport, TerraformState,
};
