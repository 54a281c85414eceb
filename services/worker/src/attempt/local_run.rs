//! A run with Terraform of this machine.

use std::sync::Arc;

use cts_terraform::{Attempt, Terraform};

use crate::leased_run::LeasedRun;

/// A leased run whose Terraform runs on this machine.
#[derive(Clone, Copy)]
pub(crate) struct LocalRun<'r> {
    pub(crate) run: &'r LeasedRun,
    pub(super) terraform: &'r Arc<Terraform>,
    pub(super) attempt: &'r Attempt,
    /// Lineage of the state that was found at the task's place, if one was found.
    pub(super) lineage: Option<&'r str>,
}
