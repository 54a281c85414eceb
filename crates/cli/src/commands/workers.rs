//! `cts workers`: lists the workers that the schedulers have registered, and drains them. Without a scheduler or a
//! configuration on the command line, the API is called instead (`task::members`).

use std::time::Duration;

use cts_proto::cluster::v1::{OverviewWorker, WorkerCondition};
use cts_proto::json::Word as _;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{GetQueueRequest, GetQueueResponse};
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use cts_proto::worker::v1::{DrainWorkerRequest, ListWorkersRequest, WorkerState};
use cts_rpc::convert;
use serde_json::{Value, json};

use crate::arguments::{Output, TableWidth};
use crate::commands::scheduler_call::{SchedulerCalls, answered};
use crate::commands::table as columns;
use crate::error::CommandError;
use crate::output::print;

/// Between two polls of workers that are to leave.
const LOOK: Duration = Duration::from_millis(500);

/// Characters of an id that a table shows at least.
const ID_SHOWN: usize = 8;

/// Runs `cts workers list`.
pub(crate) async fn list(
    scheduler: &SchedulerCalls,
    output: Output,
    width: TableWidth,
) -> Result<(), CommandError> {
    let (workers, queue) = tokio::try_join!(
        workers(scheduler),
        answered(async {
            RunServiceClient::new(scheduler.channel())
                .get_queue(scheduler.request(GetQueueRequest {}))
                .await
        })
    )?;
    let queue = queue.into_inner();
    print(&output.text(
        || table(&workers, &queue, width),
        || document(&workers, &queue),
    ))
}

/// Runs `cts workers drain`.
pub(crate) async fn drain(
    scheduler: &SchedulerCalls,
    beginnings: &[String],
    wait: bool,
) -> Result<(), CommandError> {
    let known = workers(scheduler).await?;
    let known = living(&known);
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
        let known = living(&workers(scheduler).await?);
        left.retain(|id| {
            let here = known.contains(id);
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

/// The only worker among these ids whose id begins with `beginning`.
pub(crate) fn choose(known: &[String], beginning: &str) -> Result<String, CommandError> {
    let fits: Vec<&str> = known
        .iter()
        .map(String::as_str)
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

/// Ids of the workers that are not lost.
pub(crate) fn living(workers: &[OverviewWorker]) -> Vec<String> {
    let living = workers
        .iter()
        .filter(|worker| worker.condition() != WorkerCondition::Lost);
    living.map(|worker| worker.id.clone()).collect()
}

async fn workers(scheduler: &SchedulerCalls) -> Result<Vec<OverviewWorker>, CommandError> {
    let answer = answered(async {
        WorkerServiceClient::new(scheduler.channel())
            .list_workers(scheduler.request(ListWorkersRequest {}))
            .await
    });
    let workers = answer.await?.into_inner().workers.into_iter();
    Ok(workers.map(summary).collect())
}

/// The worker as an overview has it.
fn summary(state: WorkerState) -> OverviewWorker {
    let worker = state.worker.unwrap_or_default();
    let condition = match (state.lost, worker.draining) {
        (true, _) => WorkerCondition::Lost,
        (false, true) => WorkerCondition::Draining,
        (false, false) => WorkerCondition::Active,
    };
    let engines = worker.capabilities.unwrap_or_default().engines.into_iter();
    OverviewWorker {
        id: worker.id,
        host: worker.host,
        version: worker.version,
        condition: condition.into(),
        running: state.running,
        slots: worker.slots,
        engines: engines
            .map(|engine| format!("{} {}", engine.driver, engine.version))
            .collect(),
        other_settings: state.other_settings,
        silent_for: state.silent_for,
        since: state.since,
        problem: worker.problem.unwrap_or_default().reason,
    }
}

/// The condition of the worker, with the blocks for which it gets no runs, and the error of its own check.
fn with_problems(worker: &OverviewWorker) -> String {
    let mut text = worker.condition().word();
    if !worker.other_settings.is_empty() {
        text.push_str(", not in force: ");
        text.push_str(&worker.other_settings.join(", "));
    }
    if !worker.problem.is_empty() {
        text.push_str(", own check fails: ");
        text.push_str(&worker.problem);
    }
    text
}

fn seconds(duration: Option<&prost_types::Duration>) -> u64 {
    convert::duration_from_wire(duration).as_secs()
}

/// The id of a worker in a table: `cts workers drain` takes the beginning that it shows.
fn id_in<'i>(id: &'i str, known: &[&str], width: TableWidth) -> &'i str {
    if width.shortens() {
        columns::short_id(id, known, ID_SHOWN)
    } else {
        id
    }
}

/// The workers and the queue, for people.
pub(crate) fn table(
    workers: &[OverviewWorker],
    queue: &GetQueueResponse,
    width: TableWidth,
) -> String {
    let ids: Vec<&str> = workers.iter().map(|worker| worker.id.as_str()).collect();
    let rows = workers.iter().map(|worker| {
        [
            worker.host.clone(),
            id_in(&worker.id, &ids, width).to_owned(),
            with_problems(worker),
            format!("{}/{}", worker.running, worker.slots),
            worker.engines.join(", "),
            format!("{} s ago", seconds(worker.silent_for.as_ref())),
        ]
    });
    let header = ["HOST", "ID", "STATE", "RUNNING", "ENGINES", "LAST SEEN"];
    let text = columns::table(header, rows, width);
    let oldest = queue.oldest_ready.as_ref().map_or_else(String::new, |age| {
        format!(", the oldest for {} s", seconds(Some(age)))
    });
    let awaiting = match queue.awaiting_consent {
        0 => String::new(),
        runs => format!("; {runs} waiting for consent"),
    };
    let waiting = format!(
        "\n{} queued, {} of them ready{oldest}{awaiting}; {} running in {} slots\n",
        queue.queued, queue.ready, queue.running, queue.slots
    );
    text + &waiting
}

/// The workers and the queue, for programs.
pub(crate) fn document(workers: &[OverviewWorker], queue: &GetQueueResponse) -> Value {
    let workers: Vec<Value> = workers
        .iter()
        .map(|worker| {
            let since = convert::timestamp_from_wire(worker.since.as_ref());
            json!({
                "id": worker.id,
                "host": worker.host,
                "version": worker.version,
                "state": worker.condition().word(),
                "running": worker.running,
                "slots": worker.slots,
                "engines": worker.engines,
                "other_settings": worker.other_settings,
                "problem": worker.problem,
                "silent_for_seconds": seconds(worker.silent_for.as_ref()),
                "since": since.map(|at| at.to_rfc3339()),
            })
        })
        .collect();
    json!({
        "workers": workers,
        "queue": {
            "queued": queue.queued,
            "awaiting_consent": queue.awaiting_consent,
            "ready": queue.ready,
            "running": queue.running,
            "slots": queue.slots,
            "oldest_ready_seconds": queue.oldest_ready.as_ref().map(|age| seconds(Some(age))),
        },
    })
}
