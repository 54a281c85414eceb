//! Settings of an issuer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cts_core::callers::Role;

/// An issuer of tokens, and the meaning of its claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// Its URL, as in its tokens.
    pub issuer: String,
    /// A token must be for one of these.
    pub audience: Vec<String>,
    /// The claim that names the user.
    pub name_claim: String,
    /// The claim with the roles: its name, or a path to it with dots.
    pub role_claim: String,
    /// Values of that claim, and the role that each gives.
    pub roles: BTreeMap<String, Role>,
    /// How far the clock of the issuer may differ.
    pub clock_skew: Duration,
    /// Authorities of its certificate; `None` for those of the system.
    pub ca_cert: Option<PathBuf>,
}
