//! A declared task: its definition, its checks, and the views that run it.

pub(crate) mod approval_ignore;
pub(crate) mod approval_rule;
pub(crate) mod buffer;
pub(crate) mod check;
pub(crate) mod declaration;
pub(crate) mod deletion;
pub(crate) mod dependency;
pub(crate) mod draft;
pub(crate) mod draft_limits;
pub(crate) mod file_settings;
pub(crate) mod module_variables;
pub(crate) mod schedule;
pub(crate) mod shrink_limit;
pub(crate) mod spec;
