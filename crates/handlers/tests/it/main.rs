//! The handlers against receivers and firewalls of their own.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod chain;
mod firewall;
mod panos;
mod stage;
mod webhooks;
