//! The Postgres store under the suite of every store, and what is its own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod doubts;
mod election;
mod failover;
mod fixture;
mod outage;
mod pooler;
mod reset;
mod schema;
mod sharing;
mod stored;
mod suite;
mod tables;
mod throughput;
mod transfer;
