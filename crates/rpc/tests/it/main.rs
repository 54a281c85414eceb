//! Servers and clients over real sockets, and in memory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod crowds;
mod folder;
mod peers;
mod rig;
mod tls;
mod tls_reload;
mod transport;
