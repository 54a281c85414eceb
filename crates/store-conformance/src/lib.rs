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

mod consent;
mod declarations;
mod leases;
pub mod model;
mod runs;
mod scene;
mod suite;
mod upkeep;
pub mod walk;

pub use consent::{
    approvals, asked_again, asking, consent_walk, flaps, gone_effects, kept_rules, pairs,
    recorded_plans, rules_of_approval, shown_effects, withdrawn_effects,
};
pub use declarations::{
    changes, checks, configurations, configured, creation, deletion, destruction, guards, settings,
    states, tasks, terraform_states,
};
pub use leases::{capabilities, concurrency, fences, groups, leadership, lease, losses, workers};
pub use runs::{
    accompanied, applied_inputs, attempts, brake, braked_tasks, cancels, causes, complete, details,
    early_failures, endings, enqueue, failed_starts, held_run, listing, logs, plans, queue,
    queued_settings, remote_runs, requests, settings_walk, swallowed, waits, withdrawals,
};
pub use scene::{
    Scene, bytes_of, claim, completion_of, enqueue_request, input, input_of, member, spec,
    stored_input, task, worker, worker_record,
};
pub use upkeep::{
    access_store, archives, bundles, change_times, facts, hints, housekeeping, prune, restored,
    revoked_sessions, sessions, ticks, traces, transfer,
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
