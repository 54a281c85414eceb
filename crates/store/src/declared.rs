//! Tasks as last declared, for a comparison with a configuration.

use std::collections::HashMap;

use cts_core::brake::FleetMaxShrink;
use cts_core::{ApprovalDefaults, ConfigurationFingerprint, Digest, TaskOrigin, TaskSpec};

use crate::error::StoreError;
use crate::fields::{Columns, Fields};

/// The tasks and the configuration in force of a store.
#[derive(Debug)]
pub struct DeclaredTasks {
    /// Ready tasks, in their order.
    pub tasks: Vec<DeclaredTask>,
    /// Configured tasks that the API deleted: names and declarations.
    pub deleted: HashMap<String, Digest>,
    /// The configuration in force, if any.
    pub in_force: Option<InForce>,
}

/// A task.
#[derive(Debug)]
pub struct DeclaredTask {
    /// The whole task.
    pub spec: TaskSpec,
    /// Where it was declared.
    pub origin: TaskOrigin,
    /// Digest of its declaration in the configuration that last took effect.
    pub configured: Option<Digest>,
}

/// The configuration in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// Number of the decision.
    pub number: u64,
    /// Id of the member whose start decided the configuration, or `cts config apply` with its machine.
    pub decided_by: String,
    /// Time of the decision, in microseconds since 1970.
    pub decided_at: i64,
    /// `None` if a different program wrote the configuration.
    pub fingerprint: Option<ConfigurationFingerprint>,
    /// The brake of the fleet.
    pub fleet_max_shrink: Option<FleetMaxShrink>,
    /// Rule of approval and its time for tasks without their own.
    pub approvals: ApprovalDefaults,
}

impl DeclaredTask {
    /// Reads a row of `tasks`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let row = Fields::new(row, "read the tasks", "tasks").keyed("name")?;
        let spec: TaskSpec = row.json("spec")?;
        if spec.name().as_str() != row.key() {
            return Err(row.cell("spec").corrupt("it is of another task"));
        }
        Ok(Self {
            spec,
            origin: row.origin("origin")?,
            configured: row.parse_if_any("configured")?,
        })
    }
}

impl InForce {
    /// Reads the row of `configuration_in_force`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let row = Fields::new(row, "read the configuration", "configuration_in_force");
        Ok(Self {
            number: row.number("number")?,
            decided_by: row.text("decided_by")?.to_owned(),
            decided_at: row.integer("decided_at")?,
            fingerprint: serde_json::from_str(row.text("fingerprint")?).ok(),
            fleet_max_shrink: row.json_if_any("fleet_max_shrink")?,
            approvals: row.json_if_any("approvals")?.unwrap_or_default(),
        })
    }
}
