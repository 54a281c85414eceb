//! Identity of Terraform states: with which state a task may continue, and when its state moves to a different
//! backend.
//!
//! A state is identified by its lineage, which Terraform makes once, and by its serial, which increases with each
//! change. The text of a backend block does not matter. After each apply a run reports both, and its task stores them
//! ([`StateRecord`]). A worker whose directory is not initialised for the backend reads the state there, and
//! [`decide`] determines its action before the first apply. See docs/rest.md#the-state-of-a-task.
//!
//! Only the identity of a state is stored, never its content. `tasks.state_moves` increases with each record after
//! which directories that were already verified must be verified again. A state that cts can read without a process
//! is compared before each apply.
//!
//! A refusal is a conflict of the task until a state is reported or an operator has decided. It ends the attempts,
//! and no worker gets a run of the task that changes something (`tasks.state_refused`).
//!
//! A worker that would have to move a state refuses if its scheduler cannot record the move.

mod decision;
mod record;

pub use decision::{Decision, Source, StateRefusal, decide, decide_from, lapse};
pub use record::{
    InvalidLineage, Keep, KnownState, LINEAGE_LIMIT, StateAt, StateConflict, StateDecision,
    StateRecord, StateReport, TerraformState,
};
