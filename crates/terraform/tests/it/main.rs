//! Root modules and commands against the real Terraform.
//!
//! Terraform is taken from `CTS_TEST_TERRAFORM` or `PATH`, Consul from `CTS_TEST_CONSUL` or `PATH`; a test
//! fails if it needs one that is missing. Modules use only Terraform's builtin provider, so no test needs a
//! network.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fixtures do not expect fails the test, too"
)]

mod aliases;
mod aws;
mod backends;
mod consul;
mod credentials;
mod ends;
mod events;
mod find;
mod fixture;
mod format;
mod lifecycle;
mod limits;
mod matrix;
mod mistakes;
mod opentofu;
mod plan;
mod report;
mod saved_plan;
mod script;
mod shared_init;
mod state_lock;
mod states;
mod values;
