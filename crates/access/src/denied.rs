//! Reasons for which a credential gives no access.

/// The credential gives no access. The reasons are for the log and for audit records; callers hear one text for all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// There is no such static token.
    #[error("the token is not known")]
    Unknown,
    /// Its time is over.
    #[error("the token of {0} has expired")]
    Expired(String),
    /// A token of an issuer that is not accepted.
    #[error("{0}")]
    Issuer(String),
}
