//! Credentials of people and programs: static tokens, tokens of OIDC issuers, and sessions of the page (docs/access.md).
//!
//! The crate decides who a caller is, and with which role. Callers of this crate decide what the role may do.
//! Keys of issuers are read over HTTPS; the static tokens are an argument ([`TokenTable`]).
//! Start with [`Authenticator`].
#![warn(missing_docs)]

mod authenticator;
mod bearer;
mod by_hash;
mod denied;
mod failures;
mod oidc;
mod principal;
mod refusals;
mod sessions;
mod token;
mod tokens;

pub use authenticator::Authenticator;
pub use bearer::bearer;
pub use denied::Denied;
pub use failures::Failures;
pub use oidc::{
    IssuerError, IssuerLogin, IssuerLoginError, IssuerSettings, Issuers, LoginSettings, LoginToken,
    PendingLogin,
};
pub use principal::Principal;
pub use refusals::{RefusalSink, Refusals};
pub use sessions::{FoundSession, Session, SessionSecret, SessionTable};
pub use token::{NewToken, TOKEN_PREFIX, TokenHash};
pub use tokens::{TokenEntry, TokenTable};
