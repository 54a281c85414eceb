//! The speed of the database alone: runs leased and completed with the statements of the store, without any
//! service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use cts_core::runs::{AttemptOutcome, RunKinds};
use cts_core::{Capabilities, Engine, EventId, RunId, WorkerId};
use cts_store::{Claim, Completion, Hint, Lease, Store as _};
use cts_store_postgres::{PostgresStore, Settings};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

const LEASE: Duration = Duration::from_mins(2);
const LONGEST: Duration = Duration::from_mins(2);

/// Empties the queue of a database over so many connections at once; gives runs per second. All `runs` are queued.
pub(crate) async fn run(database: &str, connections: u32, runs: u32) -> Result<f64> {
    let settings = Settings {
        url: database.into(),
        max_connections: connections,
        ca_cert: None,
    };
    let store = cts_store_postgres::connect(&settings).await;
    let store = Arc::new(store.context("the bare loop has no database")?);
    // Connections are made with their first use, which is not measured.
    let mut first_uses = JoinSet::new();
    for _ in 0..connections {
        let store = Arc::clone(&store);
        first_uses.spawn(async move { store.task_marks().await.map(drop) });
    }
    while let Some(used) = first_uses.join_next().await {
        used?.context("the bare loop cannot use the database")?;
    }
    let done = Arc::new(AtomicU32::new(0));
    let started = Instant::now();
    let mut loops = JoinSet::new();
    for number in 0..connections {
        let claim = claim(&format!("bare-{number}"));
        loops.spawn(empty(Arc::clone(&store), claim, Arc::clone(&done), runs));
    }
    let emptied = async {
        while let Some(ended) = loops.join_next().await {
            ended?.context("the bare loop fails")?;
        }
        anyhow::Ok(())
    };
    timeout(LONGEST, emptied)
        .await
        .context("the bare loop does not come to an end")??;
    let seconds = started.elapsed().as_secs_f64();
    // The scheduler has not seen the ends of the runs.
    store.publish(&[Hint::Gap]).await?;
    store.close().await;
    Ok(f64::from(runs) / seconds)
}

/// The part of one connection. An empty queue is polled again while other connections finish the last runs.
async fn empty(
    store: Arc<PostgresStore>,
    claim: Claim,
    done: Arc<AtomicU32>,
    runs: u32,
) -> Result<()> {
    while done.load(Ordering::Relaxed) < runs {
        if let Some(lease) = store.acquire(&claim).await? {
            store.complete(applied(&lease)).await?;
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

fn claim(worker: &str) -> Claim {
    Claim {
        worker: WorkerId::new(worker),
        request: String::new(),
        capabilities: Capabilities {
            engines: vec![Engine {
                driver: "terraform".to_owned(),
                version: "1.11.4".to_owned(),
            }],
            bundles: true,
        },
        kinds: RunKinds::ALL,
        only_requested: false,
        checks_settings: false,
        names_previous_backend: false,
        ends_remote_runs: false,
        asks_permission: true,
        time_to_live: LEASE,
    }
}

fn applied(lease: &Lease) -> Completion {
    Completion {
        run: lease.run,
        holder: lease.holder.clone(),
        epoch: lease.epoch,
        outcome: AttemptOutcome::Applied,
        is_final: false,
        early_failure: None,
        event: EventId::from_uuid(Uuid::now_v7()),
        retry_run: RunId::from_uuid(Uuid::now_v7()),
        jitter: 0.0,
        log: Vec::new(),
        details: None,
        state: None,
    }
}
