//! What the rules about consent see of a plan (docs/runs.md#consent).

pub(crate) mod content;
pub(crate) mod differs;
pub(crate) mod facts;
pub(crate) mod inspections;
pub(crate) mod needed;
pub(crate) mod paths;
pub(crate) mod rest;
pub(crate) mod waiting;
