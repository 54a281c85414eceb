//! How large a bundle may be.

/// Bounds of one bundle. Packing and unpacking both check them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Content of all files together, in bytes, before compression.
    pub max_bytes: u64,
    /// Files and directories together.
    pub max_files: usize,
}

impl Limits {
    /// 64 MiB in 10,000 files.
    pub(crate) const DEFAULT: Self = Self {
        max_bytes: 64 * 1024 * 1024,
        max_files: 10_000,
    };
}

impl Default for Limits {
    /// 64 MiB in 10,000 files.
    fn default() -> Self {
        Self::DEFAULT
    }
}
