//! Checks that every worker finds the state that a different worker left, and that Terraform finds it at all.

use serde_json::Value;

use crate::blocks::consul::has_path;
use crate::blocks::driver::TerraformDriver;

/// Why the backend cannot be used, here or by workers on several machines
/// (`docs/configuration.md#shared_local_backend`).
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
    /// The address of the Consul with the states has a path.
    #[error(
        "backend \"consul\" cannot reach {address}: Terraform takes the path of an address for a part of its host; \
         give the backend an `address` without a path, or use another backend"
    )]
    AddressWithPath { address: String },
}

impl TerraformDriver {
    /// Refuses a backend whose address Terraform reads otherwise than cts does.
    pub fn require_reachable_backend(&self) -> Result<(), BackendRefusal> {
        if self.backend.kind != "consul" {
            return Ok(());
        }
        let address = self.backend.arguments.get("address");
        match address.and_then(Value::as_str) {
            Some(address) if has_path(address) => Err(BackendRefusal::AddressWithPath {
                address: address.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses a backend whose state only one machine can see. Embedded mode has no use for this: there
    /// is one worker, and it stays where it is.
    pub fn require_shared_backend(&self) -> Result<(), BackendRefusal> {
        if self.backend.kind == "local" && !self.shared_local_backend {
            return Err(BackendRefusal::Local);
        }
        Ok(())
    }
}
