//! Servers and clients over real sockets, and in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod access;
mod access_stage;
mod access_tokens;
mod crowds;
mod folder;
mod peers;
mod reflected;
mod rig;
mod server_roles;
mod streams;
mod tls;
mod tls_reload;
mod transport;
