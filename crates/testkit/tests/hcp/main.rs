//! The stub of HCP Terraform answers as the API is documented, and runs the real Terraform.

#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod client;
mod errors;
mod faults;
mod given;
mod states;
mod table;
mod terraform;
mod uploads;
mod validation;
