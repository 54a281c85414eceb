//! Deletion of a task: whether its infrastructure stays (docs/runs.md#deleting-a-task).

use serde::{Deserialize, Serialize};

use crate::spelled;
use crate::words::identity::RunId;

spelled! {
    /// Treatment of a task's infrastructure when the task is explicitly deleted over the API. Every other removal of a
    /// task keeps the infrastructure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum OnDelete {
        /// The infrastructure stays.
        #[default]
        Retain = "retain",
        /// Terraform destroys the infrastructure before the task is removed.
        Destroy = "destroy",
    }
}

impl OnDelete {
    /// Whether this is the default.
    pub const fn is_retain(self) -> bool {
        matches!(self, Self::Retain)
    }
}

/// Relation of an ending run to the destruction of its task's infrastructure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destruction {
    /// No destruction, or no longer.
    None,
    /// This other run destroys the infrastructure after the ending run.
    Waits(RunId),
    /// The ending run is the destruction.
    Run,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletion_modes_are_spelled_as_they_are_encoded() {
        for known in [OnDelete::Retain, OnDelete::Destroy] {
            let encoded = serde_json::to_value(known).unwrap();
            assert_eq!(encoded, known.as_str());
            assert_eq!(serde_json::from_value::<OnDelete>(encoded).unwrap(), known);
        }
        assert!(serde_json::from_str::<OnDelete>("\"Destroy\"").is_err());
        assert!(OnDelete::default().is_retain() && !OnDelete::Destroy.is_retain());
    }
}
