//! Tasks: their declarations, changes, checks, states and destruction.

pub mod brake;
pub mod changes;
pub mod checks;
pub mod configure;
pub(crate) mod current_task;
pub mod destruction;
pub mod facts;
pub mod shrink_limits;
pub mod tasks;
pub mod terraform_states;
pub mod tick_events;
