//! Tasks, their declarations and settings.

pub mod changes;
pub mod checks;
pub mod configurations;
pub mod configured;
pub mod creation;
pub mod deletion;
pub mod destruction;
pub mod guards;
pub mod settings;
pub mod states;
pub mod tasks;
pub mod terraform_states;
