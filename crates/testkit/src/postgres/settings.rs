//! Settings of a server.

use crate::certificates::KeyPairFiles;

/// How a server is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresSettings<'a> {
    /// Commits wait for the disk. Only what is measured, or is killed and must keep its commits
    /// beyond the life of the machine, needs that.
    pub fsync: bool,
    /// Password of the user; without one every local user is accepted.
    pub password: Option<&'a str>,
    /// Further settings, as in `("lock_timeout", "5s")`.
    pub parameters: &'a [(&'a str, &'a str)],
    /// Certificate and key with which it offers TLS; they are copied.
    pub tls: Option<&'a KeyPairFiles>,
}

impl Default for PostgresSettings<'_> {
    fn default() -> Self {
        Self {
            fsync: true,
            password: None,
            parameters: &[],
            tls: None,
        }
    }
}
