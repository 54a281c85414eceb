//! Handlers against receivers and firewalls of the tests.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod chain;
mod firewall;
mod panos;
mod stage;
mod webhooks;
