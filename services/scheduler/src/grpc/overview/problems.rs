//! Problems of the overview. Each text ends with a next step, except problems of single tasks: `cts task explain` has
//! the steps of a task.

use std::time::Duration;

use cts_core::{CurrentState as StateName, TaskName};
use cts_proto::cluster::v1 as proto;
use cts_proto::run::v1::GetQueueResponse;
use cts_proto::task::v1::CurrentState;
use cts_rpc::{PeerCondition, convert};

/// Problems of the whole cluster.
pub(super) fn of_cluster(
    members: &[proto::OverviewMember],
    workers: &[proto::OverviewWorker],
    queue: &GetQueueResponse,
    (data, in_outage): (&proto::ObservedData, usize),
) -> Vec<proto::Problem> {
    let mut texts = Vec::new();
    if !members.iter().any(|member| member.leader) {
        texts.push(
            "no scheduler leads, so changes are not looked at; see the logs of the schedulers"
                .to_owned(),
        );
    }
    for member in members.iter().filter(|member| !member.healthy) {
        let silent = convert::duration_from_wire(member.silent_for.as_ref()).as_secs();
        texts.push(format!(
            "scheduler {} has not written to the database for {silent} s; see its log, or start it again",
            member.id
        ));
    }
    for runs in &queue.waiting {
        let oldest = convert::duration_from_wire(runs.oldest.as_ref()).as_secs();
        texts.push(format!(
            "due runs that no worker takes: {}, the oldest, of {}, for {oldest} s: {}; `cts workers list` shows the workers: start one that can run it",
            runs.runs, runs.task_name, runs.reason
        ));
    }
    if data.unreadable > 0 {
        let tasks = match in_outage {
            0 => String::new(),
            1 => ", so 1 task does not see changes".to_owned(),
            tasks => format!(", so {tasks} tasks do not see changes"),
        };
        texts.push(format!(
            "{} of {} views of Consul cannot be read{tasks}: {}; `cts doctor` checks address, token and rights",
            data.unreadable, data.views, data.reason
        ));
    }
    for worker in workers {
        if worker.condition() == proto::WorkerCondition::Lost {
            let silent = convert::duration_from_wire(worker.silent_for.as_ref()).as_secs();
            texts.push(format!(
                "worker {} on {} has been silent for {silent} s; start it again, or see its log there",
                worker.id, worker.host
            ));
            continue;
        }
        if !worker.problem.is_empty() {
            texts.push(format!(
                "the own check of worker {} on {} fails: {}; correct that on its machine, and it goes on by itself",
                worker.id, worker.host, worker.problem
            ));
        }
        if !worker.other_settings.is_empty() {
            texts.push(format!(
                "worker {} on {} has other blocks than those in force: {}; give all workers the same blocks",
                worker.id,
                worker.host,
                worker.other_settings.join(", ")
            ));
        }
    }
    texts.into_iter().map(untasked).collect()
}

/// The problem that tasks are to run and no worker lives. While their runs wait, the reason of these is the problem.
pub(super) fn no_worker(
    workers: &[proto::OverviewWorker],
    queue: &GetQueueResponse,
    tasks: &[(StateName, u32)],
) -> Option<proto::Problem> {
    let lives = |worker: &proto::OverviewWorker| worker.condition() != proto::WorkerCondition::Lost;
    let is_enabled = |(state, count): &(_, u32)| *state != StateName::Disabled && *count > 0;
    let is_problem =
        queue.waiting.is_empty() && tasks.iter().any(is_enabled) && !workers.iter().any(lives);
    is_problem.then(|| untasked("no worker runs the tasks; start one with `cts worker`".to_owned()))
}

/// A problem without a task.
fn untasked(text: String) -> proto::Problem {
    proto::Problem {
        text,
        ..proto::Problem::default()
    }
}

pub(super) fn of_silent_consul((address, silent_for): (&String, &Duration)) -> proto::Problem {
    untasked(format!(
        "Consul at {address} stands still: it has answered nothing for {} s, so changes are not seen; see whether \
         its process is stopped, or short of CPU, memory or disk",
        silent_for.as_secs()
    ))
}

/// The problem that a watcher cannot be reached.
pub(super) fn of_watcher(condition: &PeerCondition) -> Option<proto::Problem> {
    if condition.reason.is_empty() {
        return None;
    }
    Some(untasked(format!(
        "the watcher at {} cannot be used: {}; see its log, and check services.watchers",
        condition.address, condition.reason
    )))
}

pub(super) fn of_task((name, state): (TaskName, CurrentState)) -> proto::Problem {
    proto::Problem {
        task_name: name.to_string(),
        text: state.text.clone(),
        state: Some(state),
    }
}
