//! The built executables at work, with a real Consul and a real Terraform. One executable, so that waiting
//! tests run in parallel.
//!
//! `cargo test -p cts-tests` needs the executables of the same profile: run `cargo build --workspace --bins`
//! first, or use scripts/test.

mod any_shape;
mod api;
mod cli;
mod cluster;
mod original;
mod printed;
mod schemathesis;
mod single;
mod system;
