//! A workspace, as far as it matters for the values of a run.

use cts_hcp_terraform::Variable;

/// A workspace with its variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetWorkspace<'a> {
    pub(crate) workspace_id: &'a str,
    pub(crate) present: &'a [Variable],
    /// Whether the workspace was made only for an inspection.
    pub(crate) is_disposable: bool,
}
