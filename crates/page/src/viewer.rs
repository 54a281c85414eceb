//! The person in front of the page.

use cts_core::callers::{Rights, Role};

/// The caller of a request, as far as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// Name of the person or the token; empty without authentication.
    pub name: String,
    /// Role; without authentication `admin`.
    pub role: Role,
    pub rights: Rights,
    /// Whether the caller may name all tasks.
    pub all_tasks: bool,
    pub leave: Leave,
}

/// How a caller leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// There is no login, because requests need no authentication.
    Nothing,
    /// A session ends by logout.
    Logout,
    /// A certificate is shown with each request, and has no logout.
    Certificate,
}

impl Viewer {
    /// Whether the caller has this role or a larger one.
    pub fn has(&self, needed: Role) -> bool {
        self.role.includes(needed)
    }
}
