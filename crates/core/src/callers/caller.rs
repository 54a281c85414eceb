//! Callers: people and programs outside of cts.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use crate::callers::roles::UnknownWord;
use crate::spelled;
use crate::words::excerpt::excerpt;

/// Maximum stored bytes of a name.
pub const LONGEST_NAME: usize = 256;

spelled! {
    /// How a caller was recognised.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CallerKind {
        /// Not recognised: authentication is off, or it failed.
        Anonymous = "anonymous",
        /// By a static token.
        Token = "token",
        /// By a token of an OIDC issuer.
        User = "user",
        /// By a client certificate.
        Certificate = "certificate",
        /// A command on the machine of the database, by the name of its user.
        Local = "local",
    }
}

impl FromStr for CallerKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| UnknownWord(text.to_owned()))
    }
}

/// The caller of a call, with its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// How the caller was recognised.
    pub kind: CallerKind,
    /// The name of the token, the subject, the name in the certificate, or the user; empty for an anonymous caller.
    /// At most [`LONGEST_NAME`] bytes.
    pub name: String,
    /// The issuer that names the user; empty otherwise.
    pub issuer: String,
    /// The address that the call came from; `None` for calls inside of a process.
    pub address: Option<IpAddr>,
}

impl Caller {
    /// A caller of which only the address is known.
    pub const fn anonymous(address: Option<IpAddr>) -> Self {
        Self {
            kind: CallerKind::Anonymous,
            name: String::new(),
            issuer: String::new(),
            address,
        }
    }

    /// A caller with a name.
    pub fn new(kind: CallerKind, name: &str, address: Option<IpAddr>) -> Self {
        Self {
            kind,
            name: excerpt(name, LONGEST_NAME),
            issuer: String::new(),
            address,
        }
    }

    /// Returns the caller as a user of this issuer.
    #[must_use]
    pub fn of_issuer(mut self, issuer: &str) -> Self {
        self.issuer = excerpt(issuer, LONGEST_NAME);
        self
    }
}

/// For people: `token "ci"`, `user "alice" of https://login.example`, `anonymous from 10.0.0.1`.
impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        if !self.name.is_empty() {
            write!(f, " {:?}", self.name)?;
        }
        if !self.issuer.is_empty() {
            write!(f, " of {}", self.issuer)?;
        }
        match (self.kind, self.address) {
            (CallerKind::Anonymous, Some(address)) => write!(f, " from {address}"),
            _ => Ok(()),
        }
    }
}
