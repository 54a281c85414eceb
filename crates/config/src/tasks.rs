//! Tasks: `task` blocks of files, task files of the command line, and tasks of the API.

pub(crate) mod api_modules;
pub(crate) mod checks;
pub(crate) mod cloud_workspace;
pub(crate) mod condition;
pub(crate) mod declaration;
pub(crate) mod decoder;
pub(crate) mod deprecated;
pub(crate) mod file_keys;
pub(crate) mod module_input;
pub(crate) mod module_source;
pub(crate) mod pinned;
pub(crate) mod query;
pub(crate) mod raw;
pub(crate) mod references;
pub(crate) mod service_block;
pub(crate) mod task_directories;
pub(crate) mod variables;
