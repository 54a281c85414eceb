//! Diagnostics of a command.

use super::diagnostics::Diagnostics;

/// Diagnostics of a command.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) errors: Diagnostics,
    pub(super) warnings: Diagnostics,
}

impl Found {
    pub(super) fn take_in(&mut self, other: Self) {
        self.errors.take_in(other.errors);
        self.warnings.take_in(other.warnings);
    }
}
