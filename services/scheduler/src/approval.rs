//! What the rules about consent see of a plan (docs/runs.md#consent).

pub(crate) mod facts;
pub(crate) mod rest;
pub(crate) mod waiting;
