//! Configurations and settings.

pub mod configurations;
pub mod settings;
