//! Commands that README and the documents print, run as they stand there.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod backup;
mod blocks;
mod cluster;
mod consent;
mod first_day;
mod jobs;
mod several_machines;
mod terminal;
mod tokens;
