//! Processes of one shape, whatever the shape of the test run: `cts start` alone, passes, starts that fail. These tests
//! run once.
#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod authentication;
mod braked_pass;
mod disabled_tasks;
mod embedded;
mod engine;
mod issuer;
mod json_log;
mod log_lines;
mod migrate;
mod passes;
mod published_modules;
mod refusal;
pub(crate) mod reload;
mod restored;
mod scrape;
mod separate_services;
mod token_files;
mod unapproved_pass;
mod waiting;
