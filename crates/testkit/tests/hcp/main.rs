//! The stub of HCP Terraform answers as the API is documented.

#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod given;
mod table;
