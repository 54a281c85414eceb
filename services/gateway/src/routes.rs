//! The endpoints (docs/rest.md#routes).

pub(crate) mod approvals;
pub(crate) mod changes;
pub(crate) mod health;
pub(crate) mod leader;
pub(crate) mod legacy_family;
pub(crate) mod new_family;
pub(crate) mod overview;
pub(crate) mod runs;
