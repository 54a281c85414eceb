//! Mutual TLS between services, with certificates that are exchanged while they run.

mod client;
mod files;
mod server_role;

pub use client::ClientTls;
pub(crate) use client::{ClientKeys, KeyChanges};
pub use files::{ClientTlsFiles, TlsFiles};
pub use server_role::ServerRule;
