//! A workspace, as far as it matters for the values of a run.

use cts_hcp_terraform::Variable;

/// A workspace with its variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct TargetWorkspace<'a> {
    pub(super) workspace_id: &'a str,
    pub(super) present: &'a [Variable],
    /// Whether the workspace was made only for an inspection.
    pub(super) is_disposable: bool,
}
