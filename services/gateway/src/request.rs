//! Query parameters and bodies of requests, checked against the `OpenAPI` document.

pub(crate) mod approval_body;
pub(crate) mod cancel_body;
pub(crate) mod document;
pub(crate) mod parameters;
pub(crate) mod query;
pub(crate) mod release_body;
pub(crate) mod run_mode;
pub(crate) mod schema;
pub(crate) mod state_decision;
pub(crate) mod task_request;
pub(crate) mod update_body;
