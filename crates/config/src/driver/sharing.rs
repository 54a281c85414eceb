//! Whether every worker finds the state that another one left.

use crate::driver::TerraformDriver;

/// Why the backend cannot be used by workers on several machines (`docs/configuration.md#shared_local_backend`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendRefusal {
    /// Backend `local`, whose path is not declared as shared.
    #[error(
        "backend \"local\" cannot be used here: its state lives on one machine, and another worker \
         would start from nothing; use a backend that every worker reaches, such as \"consul\", \"s3\" \
         or \"pg\", or set shared_local_backend = true in driver \"terraform\" if its workspace_dir is \
         on storage that all workers share"
    )]
    Local,
}

impl TerraformDriver {
    /// Refuses a backend whose state only one machine can see. Embedded mode has no use for this: there
    /// is one worker, and it stays where it is.
    pub fn require_shared_backend(&self) -> Result<(), BackendRefusal> {
        if self.backend.kind == "local" && !self.shared_local_backend {
            return Err(BackendRefusal::Local);
        }
        Ok(())
    }
}
