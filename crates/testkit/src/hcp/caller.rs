//! Senders of calls, and their rights.

use std::collections::BTreeSet;

/// Permission of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Create and change workspaces and their tags.
    ManageWorkspaces,
    /// Read states.
    ReadStates,
}

/// Sender of a call.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) name: String,
    pub(super) missing: BTreeSet<Right>,
}

impl Caller {
    pub(super) fn may(&self, right: Right) -> bool {
        !self.missing.contains(&right)
    }

    /// A caller with every right.
    pub(super) fn person() -> Self {
        Self {
            name: "operator".to_owned(),
            missing: BTreeSet::new(),
        }
    }
}
