//! How modules are packed.

use std::path::PathBuf;

use crate::limits::Limits;
use crate::roots::Roots;

/// How modules are packed.
#[derive(Debug, Clone)]
pub struct Packing {
    /// Excluded directories, as absolute paths. The working directory of tasks is among them; otherwise a
    /// module in the directory around it would change with every run.
    pub excluded: Vec<PathBuf>,
    /// Directories in which all packed files must lie.
    pub roots: Roots,
    /// Bounds of the bundle.
    pub limits: Limits,
}
