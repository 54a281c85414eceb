//! The dependencies and settings that all work of a leader shares.

use std::sync::Arc;
use std::time::Duration;

use cts_core::Clock;
use cts_rpc::Peers;
use cts_store::{Retention, Store};

use crate::check_pass::CheckPass;
use crate::identities::Identities;
use crate::leader::first_pass::FirstPass;
use crate::leader::recent_inputs::RecentInputs;
use crate::metrics::Metrics;
use crate::mode::Mode;
use crate::notifier::Notifier;
use crate::options::{NextTick, Workers};
use crate::run_spans::RunSpans;
use crate::tasks::module_again::ModuleAgain;

/// The dependencies and settings of a leader.
#[derive(Debug)]
pub(crate) struct LeaderContext {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) watchers: Peers,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) modules: ModuleAgain,
    pub(crate) workers: Workers,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) recent_inputs: Arc<RecentInputs>,
    pub(crate) first_pass: Arc<FirstPass>,
    pub(crate) check_pass: Arc<CheckPass>,
    pub(crate) mode: Mode,
    /// Life of a run's lease.
    pub(crate) lease: Duration,
    pub(crate) retention: Retention,
    pub(crate) logs_kept: u64,
    pub(crate) plans_kept: u64,
    /// How long requests wait for a complete input.
    pub(crate) input_timeout: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) next_tick: NextTick,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) spans: RunSpans,
}
