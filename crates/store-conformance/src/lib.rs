//! The behaviour that every implementation of [`Store`] must show, as tests.
//!
//! An implementation writes a [`Fixture`] and calls [`store_suite!`](crate::store_suite) once in its tests;
//! each behaviour becomes a test of its own. The behaviours use the trait only, so every database must do
//! what one does. Start with [`Scene`], in whose terms they are written.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cts_store::Store;

pub mod access_store;
pub mod accompanied;
pub mod applied_inputs;
pub mod archives;
pub mod attempts;
pub mod bundles;
pub mod cancels;
pub mod capabilities;
pub mod changes;
pub mod checks;
pub mod complete;
pub mod concurrency;
pub mod configurations;
pub mod configured;
pub mod creation;
pub mod deletion;
pub mod destruction;
pub mod details;
pub mod early_failures;
pub mod endings;
pub mod enqueue;
pub mod facts;
pub mod failed_starts;
pub mod fences;
pub mod groups;
pub mod guards;
pub mod hints;
pub mod housekeeping;
pub mod leadership;
pub mod lease;
pub mod listing;
pub mod logs;
pub mod losses;
pub mod model;
pub mod plans;
pub mod prune;
pub mod queue;
pub mod queued_settings;
pub mod remote_runs;
pub mod requests;
pub mod restored;
mod scene;
pub mod settings;
pub mod settings_walk;
pub mod states;
mod suite;
pub mod swallowed;
pub mod tasks;
pub mod terraform_states;
pub mod ticks;
pub mod traces;
pub mod transfer;
pub mod waits;
pub mod walk;
pub mod withdrawals;
pub mod workers;

pub use scene::{
    Scene, bytes_of, claim, completion_of, enqueue_request, input, input_of, member, spec,
    stored_input, task, worker, worker_record,
};

/// A database of one test.
///
/// Its time stands still except when [`Fixture::advance`] or [`Fixture::set_back`] is called.
#[async_trait]
pub trait Fixture: fmt::Debug + Send + Sync + Sized {
    /// Makes an empty store.
    async fn new() -> Self;

    /// The store.
    fn store(&self) -> Arc<dyn Store>;

    /// Moves the store's time.
    fn advance(&self, by: Duration);

    /// Sets the store's time back.
    fn set_back(&self, by: Duration);

    /// Closes the store and opens it again on the data that it has kept.
    async fn restart(&mut self);
}
