//! Mutual TLS between services, with certificates that are exchanged while they run.
//!
//! What the files hold is checked as a whole when it is read: certificates, key, and that they belong
//! together. A later state of the files that does not pass is logged once and changes nothing. New
//! connections use what was read last; open ones live on with what they began with.

mod accept;
mod client;
mod files;
mod pem;
mod reload;
mod server;

pub(crate) use accept::tls_connections;
pub(crate) use client::ClientKeys;
pub use client::ClientTls;
pub use files::{ClientTlsFiles, IdentityFiles, TlsError, TlsFiles};
pub use server::ServerTls;
