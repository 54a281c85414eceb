//! The SQLite store under the suite of every store, and what is its own.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod corruption;
mod export;
mod file;
mod fixture;
mod full_disk;
mod power_cut;
mod sharing;
mod space;
mod suite;
mod upgrade;
