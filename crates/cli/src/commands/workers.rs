//! `cts workers`: lists the workers that the scheduler has registered, and drains them.

use std::time::Duration;

use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{GetQueueRequest, GetQueueResponse};
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_proto::worker::v1::{DrainWorkerRequest, ListWorkersRequest, WorkerState};
use cts_rpc::convert;
use serde_json::{Value, json};

use crate::arguments::Output;
use crate::commands::scheduler_call::{SchedulerCalls, answered};
use crate::commands::task::table as columns;
use crate::error::CommandError;
use crate::output::print;

/// Between two polls of workers that are to leave.
const LOOK: Duration = Duration::from_millis(500);

/// Runs `cts workers list`.
pub(crate) async fn list(scheduler: &SchedulerCalls, output: Output) -> Result<(), CommandError> {
    let (workers, queue) = tokio::try_join!(
        workers(scheduler),
        answered(async {
            RunServiceClient::new(scheduler.channel())
                .get_queue(scheduler.request(GetQueueRequest {}))
                .await
        })
    )?;
    let queue = queue.into_inner();
    print(&output.text(|| table(&workers, &queue), || document(&workers, &queue)))
}

/// Runs `cts workers drain`.
pub(crate) async fn drain(
    scheduler: &SchedulerCalls,
    beginnings: &[String],
    wait: bool,
) -> Result<(), CommandError> {
    let known = workers(scheduler).await?;
    let ids = beginnings
        .iter()
        .map(|beginning| choose(&known, beginning))
        .collect::<Result<Vec<_>, _>>()?;
    for id in &ids {
        let request = DrainWorkerRequest {
            worker_id: id.clone(),
        };
        answered(async {
            WorkerServiceClient::new(scheduler.channel())
                .drain_worker(scheduler.request(request))
                .await
        })
        .await?;
        print(&format!("{id} drains\n"))?;
    }
    if !wait {
        return Ok(());
    }
    let mut left = ids;
    loop {
        let known = workers(scheduler).await?;
        left.retain(|id| {
            let here = known
                .iter()
                .any(|state| !state.lost && id_of(state) == id.as_str());
            if !here {
                drop(print(&format!("{id} has left\n")));
            }
            here
        });
        if left.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The one worker whose id begins so.
fn choose(known: &[WorkerState], beginning: &str) -> Result<String, CommandError> {
    let fits: Vec<&str> = known
        .iter()
        .map(id_of)
        .filter(|id| id.starts_with(beginning))
        .collect();
    match fits.as_slice() {
        [only] => Ok((*only).to_owned()),
        _ if fits.contains(&beginning) => Ok(beginning.to_owned()),
        [] => Err(CommandError::Call(format!(
            "there is no worker {beginning:?}; `cts workers list` shows them"
        ))),
        several => Err(CommandError::Call(format!(
            "{beginning:?} is the beginning of {} workers: {}",
            several.len(),
            several.join(", ")
        ))),
    }
}

fn id_of(state: &WorkerState) -> &str {
    state
        .worker
        .as_ref()
        .map_or("", |worker| worker.id.as_str())
}

async fn workers(scheduler: &SchedulerCalls) -> Result<Vec<WorkerState>, CommandError> {
    let answer = answered(async {
        WorkerServiceClient::new(scheduler.channel())
            .list_workers(scheduler.request(ListWorkersRequest {}))
            .await
    });
    Ok(answer.await?.into_inner().workers)
}

fn condition(state: &WorkerState) -> &'static str {
    let draining = state.worker.as_ref().is_some_and(|worker| worker.draining);
    match (state.lost, draining) {
        (true, _) => "lost",
        (false, true) => "draining",
        (false, false) => "active",
    }
}

/// Its condition, with the blocks for which it gets no runs.
fn with_differences(state: &WorkerState) -> String {
    let condition = condition(state);
    if state.other_settings.is_empty() {
        return condition.to_owned();
    }
    format!(
        "{condition}, not in force: {}",
        state.other_settings.join(", ")
    )
}

fn engines(state: &WorkerState) -> Vec<String> {
    let capabilities = state
        .worker
        .as_ref()
        .and_then(|worker| worker.capabilities.as_ref());
    let engines = capabilities.map_or(&[][..], |capabilities| &capabilities.engines);
    engines
        .iter()
        .map(|engine| format!("{} {}", engine.driver, engine.version))
        .collect()
}

fn seconds(duration: Option<&prost_types::Duration>) -> u64 {
    convert::duration_from_wire(duration).as_secs()
}

fn table(workers: &[WorkerState], queue: &GetQueueResponse) -> String {
    let rows = workers.iter().map(|state| {
        let worker = state.worker.clone().unwrap_or_default();
        [
            worker.id,
            worker.host,
            with_differences(state),
            format!("{}/{}", state.running, worker.slots),
            engines(state).join(", "),
            format!("{} s ago", seconds(state.silent_for.as_ref())),
        ]
    });
    let header = ["ID", "HOST", "STATE", "RUNNING", "ENGINES", "LAST SEEN"];
    let text = columns::table(header, rows);
    let oldest = queue.oldest_ready.as_ref().map_or_else(String::new, |age| {
        format!(", the oldest for {} s", seconds(Some(age)))
    });
    let waiting = format!(
        "\n{} queued, {} of them ready{oldest}; {} running in {} slots\n",
        queue.queued, queue.ready, queue.running, queue.slots
    );
    text + &waiting
}

fn document(workers: &[WorkerState], queue: &GetQueueResponse) -> Value {
    let workers: Vec<Value> = workers
        .iter()
        .map(|state| {
            let worker = state.worker.clone().unwrap_or_default();
            json!({
                "id": worker.id,
                "host": worker.host,
                "version": worker.version,
                "state": condition(state),
                "running": state.running,
                "slots": worker.slots,
                "engines": engines(state),
                "other_settings": state.other_settings,
                "silent_for_seconds": seconds(state.silent_for.as_ref()),
                "since": convert::timestamp_from_wire(state.since.as_ref()).map(|at| at.to_rfc3339()),
            })
        })
        .collect();
    json!({
        "workers": workers,
        "queue": {
            "queued": queue.queued,
            "ready": queue.ready,
            "running": queue.running,
            "slots": queue.slots,
            "oldest_ready_seconds": queue.oldest_ready.as_ref().map(|age| seconds(Some(age))),
        },
    })
}
