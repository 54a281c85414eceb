//! Certificates, keys and authorities in PEM files, for what cts serves and calls: read, checked as a
//! whole, and exchanged while the process runs.
//!
//! The contents of the files are checked when they are read: certificates, key, and that they belong together.
//! A later state of the files that does not pass is logged once and changes nothing. New connections use the
//! contents that were read last; open ones go on with the contents they began with.
//!
//! A certificate of the other side is accepted if it comes from a trusted one or is one of these itself,
//! by one check for all that cts calls and serves (`trust.rs`).
//!
//! The crate knows no protocol above TLS, opens no connection and reads no configuration. Start with
//! [`ServerTls`] and [`ClientFiles`], or with [`Reloading`] for anything else that is made of such files.
#![warn(missing_docs)]

mod client;
mod contents;
mod error;
mod expiry;
mod files;
mod go_words;
mod peer;
mod plain_text;
mod reading;
mod reload;
mod server;
mod trust;
mod validity;
mod verifiers;

pub use client::ClientFiles;
pub use contents::{Contents, Identity, cryptography};
pub use error::TlsError;
pub use expiry::not_after;
pub use files::{Authorities, Files, IdentityFiles};
pub use go_words::go_words;
pub use peer::PeerCertificate;
pub use plain_text::{answers_in_plain_text, causes};
pub use reload::Reloading;
pub use server::{ServerFiles, ServerTls};
pub use trust::AuthorityPresented;
pub use validity::Validity;
