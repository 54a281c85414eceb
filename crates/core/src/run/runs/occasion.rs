//! Applies that accompany a change, instead of being requested themselves.

use serde::{Deserialize, Serialize};

use crate::spelled;
use crate::words::digest::Digest;

spelled! {
    /// The event that an apply follows although no caller asked for the apply itself.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Occasion {
        /// The declaration of the task changed.
        Declaration = "declaration",
        /// An operator decided with which Terraform state the task continues.
        State = "state",
        /// The database has forgotten a run in the journal of a worker.
        Journal = "journal",
    }
}

impl Occasion {
    /// Text for display about the change that waits while the apply is blocked.
    pub const fn waiting(self) -> &'static str {
        match self {
            Self::Declaration => "its declaration was replaced, and no run has applied that yet",
            Self::State => {
                "the decision about its Terraform state is stored, and no run has carried it out yet"
            }
            Self::Journal => {
                "a run of it was forgotten by the database, and no run has taken its place yet"
            }
        }
    }
}

/// Reason of a requested apply that follows a change. Such an apply is made even if its input is applied, and the
/// shrink limit and a cancelled input block it like any change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accompanied {
    /// The event.
    pub occasion: Occasion,
    /// The task's previous input: the shrink limit has already let it through, and does not block it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_through: Option<Digest>,
}

impl From<Occasion> for Accompanied {
    fn from(occasion: Occasion) -> Self {
        Self {
            occasion,
            let_through: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_occasion_is_spelled_as_it_is_encoded() {
        for occasion in Occasion::ALL {
            let encoded = serde_json::to_value(occasion).unwrap();
            assert_eq!(encoded, occasion.as_str());
        }
    }
}
