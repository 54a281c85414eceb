//! Bundles of real directories, hostile archives, and a module that the real Terraform reads from its
//! bundle.
//!
//! Terraform is found by `cts_testkit::terraform_path`. Modules use nothing but its builtin provider,
//! so no test needs a network.
#![expect(
    clippy::unwrap_used,
    reason = "what fixtures do not expect fails the test, too"
)]

mod cache;
mod fixture;
mod hostile;
mod links;
mod pack;
mod properties;
mod references;
mod terraform;
mod unpack;
