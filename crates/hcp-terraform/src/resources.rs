//! The resources of the API, and the calls about them.

pub(crate) mod configuration_versions;
pub(crate) mod logs;
pub(crate) mod organizations;
pub(crate) mod policies;
pub(crate) mod run;
pub(crate) mod run_events;
pub(crate) mod run_phase;
pub(crate) mod run_variable;
pub(crate) mod runs;
pub(crate) mod state_versions;
pub(crate) mod tags;
pub(crate) mod variables;
pub(crate) mod workspaces;
