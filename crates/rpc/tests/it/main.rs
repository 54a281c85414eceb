//! Servers and clients over real sockets, and in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod admission;
mod admission_stage;
mod admission_tokens;
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
