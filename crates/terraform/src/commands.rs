//! The commands of Terraform in one attempt, and their preparation.

pub(crate) mod destroy;
pub(crate) mod init;
pub(crate) mod json_events;
pub(crate) mod outcome;
pub(crate) mod outputs;
pub(crate) mod plugin_cache;
pub(crate) mod prepare;
pub(crate) mod provider_forms;
pub(crate) mod saved_plan;
pub(crate) mod shared_init;
pub(crate) mod show_plan;
pub(crate) mod state;
pub(crate) mod terraform;
pub(crate) mod torn;
pub(crate) mod validate;
