//! Installations from a site on loopback.
#![expect(
    clippy::unwrap_used,
    reason = "what fixtures do not expect fails the test, too"
)]

mod install;
mod refusals;
mod stage;
