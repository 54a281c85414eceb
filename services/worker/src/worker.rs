//! The worker as a whole: slots, each working on one run at a time.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use cts_core::{Chain, WorkerId};
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_terraform::{OutputSink, RenderSettings, StopPolicy, TaskDirectory, Terraform};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::lease::LeasedRun;
use crate::scheduler_calls::Scheduler;

/// Settings of a worker.
#[derive(Clone)]
pub struct Options {
    /// Names this life of this worker.
    pub id: WorkerId,
    /// Runs at a time, at least one.
    pub slots: usize,
    /// Directory that relative task directories are relative to.
    pub start_directory: PathBuf,
    /// Environment that Terraform inherits.
    pub environment: BTreeMap<OsString, OsString>,
    /// Environment that the state backend needs on top; may hold a token.
    pub backend_environment: Vec<(String, String)>,
    /// Whether Terraform writes its trace into the task directory.
    pub persist_log: bool,
    /// How Terraform is stopped.
    pub stop: StopPolicy,
    /// What generated root modules say about driver, backend and providers.
    pub render: RenderSettings,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("id", &self.id)
            .field("slots", &self.slots)
            .field("render", &self.render)
            .finish_non_exhaustive()
    }
}

/// What a worker needs from outside.
#[derive(Clone)]
pub struct Dependencies {
    /// The scheduler's leases.
    pub runs: RunServiceClient<Channel>,
    /// The scheduler's logs.
    pub logs: LogServiceClient<Channel>,
    /// Terraform.
    pub terraform: Arc<Terraform>,
    /// Where Terraform's output is shown live besides, if anywhere.
    pub console: Option<Arc<dyn OutputSink>>,
}

impl fmt::Debug for Dependencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dependencies")
            .field("terraform", &self.terraform)
            .finish_non_exhaustive()
    }
}

/// See the crate.
#[derive(Debug)]
pub struct Worker {
    shared: Arc<Shared>,
    slots: usize,
}

/// What all slots share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) scheduler: Scheduler,
    pub(crate) terraform: Arc<Terraform>,
    pub(crate) console: Console,
    /// Directories in which no earlier process can be at work any more.
    pub(crate) adopted: Mutex<HashSet<TaskDirectory>>,
}

/// The console, if there is one.
#[derive(Clone)]
pub(crate) struct Console(pub(crate) Option<Arc<dyn OutputSink>>);

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Console").field(&self.0.is_some()).finish()
    }
}

impl Worker {
    /// A worker that has not begun.
    pub fn new(options: Options, dependencies: Dependencies) -> Self {
        let Dependencies {
            runs,
            logs,
            terraform,
            console,
        } = dependencies;
        let slots = options.slots.max(1);
        let scheduler = Scheduler {
            worker: options.id.clone(),
            runs,
            logs,
        };
        let shared = Shared {
            options,
            scheduler,
            terraform,
            console: Console(console),
            adopted: Mutex::default(),
        };
        Self {
            shared: Arc::new(shared),
            slots,
        }
    }

    /// Works until `stop` is cancelled: runs in progress are then interrupted gently and reported, and
    /// this returns when the last has ended.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Infallible> {
        let mut slots = JoinSet::new();
        for _ in 0..self.slots {
            slots.spawn(work(Arc::clone(&self.shared), stop.clone()));
        }
        while let Some(ended) = slots.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                // The supervisor of this worker must learn of it.
                std::panic::resume_unwind(error.into_panic());
            }
        }
        Ok(())
    }
}

/// One slot.
async fn work(shared: Arc<Shared>, stop: CancellationToken) {
    let mut waits = calm();
    loop {
        let leased = tokio::select! {
            () = stop.cancelled() => return,
            leased = shared.scheduler.acquire() => leased,
        };
        match leased {
            Ok(None) => waits = calm(),
            Ok(Some(lease)) => {
                waits = calm();
                LeasedRun::new(Arc::clone(&shared), lease).work(&stop).await;
            }
            Err(error) => {
                let wait = waits.next().unwrap_or(LONGEST_WAIT);
                tracing::warn!(error = %Chain(&error), retry_after = ?wait, "cannot ask the scheduler for runs");
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep(wait) => {}
                }
            }
        }
    }
}

const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Waits between failing calls, from the shortest.
fn calm() -> backon::ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times()
        .build()
}
