//! How messages and the log of the original call blocks and the keys in them.

use crate::decode::block::Block;
use crate::report::original::joined;

impl Block<'_> {
    /// How messages call the block.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// How messages call something in the block.
    pub(crate) fn path_of(&self, name: &str) -> String {
        joined(&self.name, name)
    }

    /// With the name of the log of the original.
    #[must_use]
    pub(crate) fn logged_as(self, log_path: String) -> Self {
        Self { log_path, ..self }
    }

    /// The block as the log of the original calls it.
    pub(crate) fn log_path(&self) -> &str {
        &self.log_path
    }

    /// How the log of the original calls something in the block.
    pub(crate) fn log_path_of(&self, name: &str) -> String {
        joined(&self.log_path, name)
    }
}
