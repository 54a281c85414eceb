//! Problems of the overview. Each text ends with a next step, except problems of single tasks: `cts task explain` has
//! the steps of a task.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::{CurrentState as StateName, TaskName};
use cts_proto::cluster::v1 as proto;
use cts_proto::run::v1::GetQueueResponse;
use cts_proto::task::v1::CurrentState;
use cts_rpc::{PeerCondition, convert};
use cts_store::{Approval, StoredBrake};

use crate::approval::waiting::oldest;

/// Most addresses of remote runs in one problem.
const ADDRESSES: usize = 5;

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
    // Callers from whom machines are hidden cannot mend workers.
    for worker in workers.iter().filter(|worker| !worker.host.is_empty()) {
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

/// The problem that the brake of the fleet is set.
pub(super) fn of_brake(brake: &StoredBrake) -> Option<proto::Problem> {
    let fleet = &brake.fleet;
    let to_confirm = fleet.leased.iter().filter(|run| run.to_confirm);
    let addresses = to_confirm.filter_map(|run| run.address.as_deref());
    let addresses: Vec<&str> = addresses.take(ADDRESSES).collect();
    let remote = if addresses.is_empty() {
        String::new()
    } else {
        format!(
            "; remote runs that wait for a confirmation take instances away, too: {}",
            addresses.join(", ")
        )
    };
    fleet.is_set().then(|| {
        untasked(format!(
            "the brake of the fleet is set: {} of {} instances are lost, and {} tasks wait{remote}; it ends when the \
             instances are back, or with `cts task release -all`",
            fleet.lost, fleet.of, brake.held
        ))
    })
}

/// The problem that effects wait for the consent of a person.
pub(super) fn of_approvals(waiting: &[&Approval], now: DateTime<Utc>) -> Option<proto::Problem> {
    let seconds = (now - oldest(waiting)?).num_seconds().max(0);
    let effects = match waiting.len() {
        1 => "1 effect waits for the consent of a person,".to_owned(),
        effects => format!("{effects} effects wait for the consent of a person, the oldest"),
    };
    Some(untasked(format!(
        "{effects} for {seconds} s; `cts approvals list` shows what would be done"
    )))
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

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use cts_core::RunId;
    use cts_core::brake::{BrakedRun, NotedFleet};
    use cts_proto::run::v1::ApprovalState;
    use cts_store::PlanSummary;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn effects_that_wait_are_a_problem_with_their_number() {
        let now = DateTime::from_timestamp(1_770_110_130, 0).unwrap();
        let approval = |seconds| Approval {
            task: "web".parse().unwrap(),
            effect: "ab".to_owned(),
            run: RunId::from_uuid(Uuid::from_u128(1)),
            state: ApprovalState::Waiting,
            summary: PlanSummary::default(),
            asked_at: now - TimeDelta::seconds(seconds),
            gone_at: None,
            decided: None,
            requested_by: None,
            cause: None,
        };
        assert_eq!(of_approvals(&[], now), None);
        let (first, second) = (approval(40), approval(3));
        let text = |waiting: &[&Approval]| of_approvals(waiting, now).unwrap().text;
        assert_eq!(
            text(&[&second, &first]),
            "2 effects wait for the consent of a person, the oldest for 40 s; `cts approvals list` shows what would \
             be done"
        );
        assert!(
            text(&[&second]).starts_with("1 effect waits for the consent of a person, for 3 s")
        );
    }

    #[test]
    fn a_set_brake_is_a_problem_with_the_remote_runs_to_confirm() {
        let run = |address: &str, to_confirm| BrakedRun {
            task: "web".parse().unwrap(),
            run: RunId::from_uuid(Uuid::from_u128(1)),
            address: Some(address.to_owned()),
            to_confirm,
        };
        let mut brake = StoredBrake {
            releases: 0,
            fleet: NotedFleet {
                lost: 230,
                of: 1000,
                leased: vec![
                    run("https://a.example/1", true),
                    run("https://a.example/2", false),
                ],
                ..NotedFleet::default()
            },
            held: 41,
        };
        assert_eq!(of_brake(&brake), None);
        brake.fleet.set_at = DateTime::from_timestamp(1_770_110_130, 0);
        let problem = of_brake(&brake).unwrap();
        assert_eq!(
            problem.text,
            "the brake of the fleet is set: 230 of 1000 instances are lost, and 41 tasks wait; remote runs that wait \
             for a confirmation take instances away, too: https://a.example/1; it ends when the instances are back, or \
             with `cts task release -all`"
        );
    }
}
