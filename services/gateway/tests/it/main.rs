//! The real gateway on a loopback socket, in front of a scheduler in memory.

#![expect(clippy::panic, clippy::unwrap_used, reason = "shared steps of tests")]

mod access_service;
mod answers;
mod authorization;
mod browsers;
mod certificates;
mod changes;
mod cluster;
mod cluster_status;
mod conformity;
mod crowds;
mod current;
mod destructions;
mod errors;
mod failures;
mod gone_followers;
mod health;
mod hostile;
mod log;
mod logs;
mod lost;
mod overview;
mod run_answers;
mod runs;
mod shutdown;
mod slow_readers;
mod stage;
mod strict_follower;
mod task_changes;
mod tasks;
mod tls;
