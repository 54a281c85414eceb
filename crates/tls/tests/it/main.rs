//! Handshakes between a server and a client of this crate.

#![expect(clippy::unwrap_used, reason = "shared steps of tests")]

mod ended;
mod lenient;
mod trust;
