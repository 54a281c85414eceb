//! Values that a task keeps of its unreadable keys.

use cts_core::{Digest, HeldKeys, UnreadableKeys};

/// Values that a task keeps of its unreadable keys.
#[derive(Debug, Clone)]
pub(super) enum Kept {
    /// None: the task was never applied, and waits.
    NeverApplied,
    /// The values of an applied input.
    Of {
        /// Hash of the input.
        input: Digest,
        /// The values.
        held: HeldKeys,
        /// Keys without one.
        left_out: Vec<UnreadableKeys>,
    },
}
