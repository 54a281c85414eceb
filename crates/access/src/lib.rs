//! Credentials of people and programs: static tokens and tokens of OIDC issuers (docs/access.md).
//!
//! The crate decides who a caller is, and with which role. Callers of this crate decide what the role may do.
//! It reads keys of issuers over HTTPS, and nothing else: the static tokens are handed over as a [`TokenTable`].
//! Start with [`Authenticator`].
#![warn(missing_docs)]

mod authenticator;
mod failures;
mod oidc;
mod principal;
mod refusals;
mod token;
mod tokens;

pub use authenticator::{Authenticator, Denied};
pub use failures::Failures;
pub use oidc::{IssuerError, IssuerSettings, Issuers};
pub use principal::Principal;
pub use refusals::{RefusalSink, Refusals};
pub use token::{NewToken, TOKEN_PREFIX, TokenHash};
pub use tokens::{TokenEntry, TokenTable};
