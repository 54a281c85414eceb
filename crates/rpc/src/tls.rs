//! Mutual TLS between services, with certificates that are exchanged while they run.

mod accept;
mod client;
mod files;

pub(crate) use accept::tls_connections;
pub(crate) use client::ClientKeys;
pub use client::ClientTls;
pub use files::{ClientTlsFiles, TlsFiles};
