//! Mutual TLS between services, with certificates that are exchanged while they run.

mod client;
mod files;

pub(crate) use client::ClientKeys;
pub use client::ClientTls;
pub use files::{ClientTlsFiles, TlsFiles};
