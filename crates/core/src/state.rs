//! Whose Terraform state is it: which state a task may go on with, and when its state moves to another backend.
//!
//! A state is known by its lineage, which Terraform makes once, and by its serial, which increases with each change. The
//! text of a backend block is no part of that. After each apply a run reports both, and its task keeps them
//! ([`StateRecord`]). A worker whose directory is not initialised for the backend reads the state there and lets [`decide`]
//! say what to do before the first apply. See docs/rest.md#the-state-of-a-task.
//!
//! Only the identity of a state is stored, nothing of its content. `tasks.state_moves` increases with each record
//! after which directories that were verified before must be verified again. A state that cts can read without a
//! process is compared before each apply.
//!
//! A refusal is a conflict of the task until a state is reported or an operator has decided. It ends the attempts,
//! and no worker gets a run of the task that changes something (`tasks.state_refused`).
//!
//! A worker or scheduler of an earlier version reports and keeps no state: the task keeps its record. A worker that
//! would have to move a state refuses if its scheduler cannot record the move.

mod decision;
mod record;

pub use decision::{Decision, Source, StateRefusal, decide, decide_from, lapse};
pub use record::{
    InvalidLineage, Keep, KnownState, LINEAGE_LIMIT, StateAt, StateConflict, StateDecision,
    StateRecord, StateReport, TerraformState,
};
