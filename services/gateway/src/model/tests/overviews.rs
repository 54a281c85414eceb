//! Overviews, explanations and states of tasks, with every member set and every word, and empty.

use std::collections::BTreeMap;

use cts_proto::cluster::v1::{
    Brake, BrakeLoss, BrakeRun, GetOverviewResponse, GetTimesResponse, ObservedData,
    OverviewMember, OverviewWatcher, OverviewWorker, Percentiles, Problem, TimesOfChanges,
    WorkerCondition,
};
use cts_proto::run::v1::{GetQueueResponse, RunPhase};
use cts_proto::task::v1::{
    CurrentState, CurrentStateName, Decision, DecisionKind, Explanation, GetTaskGridResponse,
    ListTaskPageResponse, NamedState, TaskPhase,
};

use super::filled::{RUN, at, every, explanation, queue, task_state, time};

pub(super) fn current_state(name: i32) -> CurrentState {
    CurrentState {
        name,
        since: Some(at(0, 0)),
        until: Some(at(7, 0)),
        text: "apply".into(),
        run_id: RUN.into(),
        worker: "w-1".into(),
        phase: RunPhase::Apply.into(),
        phase_since: Some(at(1, 0)),
    }
}

/// Tasks in every state, and a task of a scheduler that does not send states.
pub(super) fn current_states() -> Vec<NamedState> {
    let task_name = task_state().task_name;
    let named = |state| NamedState {
        task_name: task_name.clone(),
        state,
    };
    let names = every::<CurrentStateName>().map(|name| named(Some(current_state(name))));
    names.chain([named(None)]).collect()
}

pub(super) fn page() -> ListTaskPageResponse {
    ListTaskPageResponse {
        states: current_states(),
        total: 213,
        pages: 2,
    }
}

pub(super) fn grid() -> GetTaskGridResponse {
    GetTaskGridResponse {
        grid: "sbq?".into(),
    }
}

pub(super) fn brake() -> Brake {
    Brake {
        configured: true,
        set: true,
        since: Some(at(1, 0)),
        lost: 230,
        of: 1000,
        limit: 200,
        losses: vec![BrakeLoss {
            service: "web".into(),
            datacenter: "dc2".into(),
            before: 120,
            now: 3,
        }],
        more_losses: 4,
        held: 41,
        leased: vec![
            BrakeRun {
                task_name: "edge".into(),
                run_id: RUN.into(),
                address: "https://tfe.example.com/app/network/runs/run-1".into(),
                to_confirm: true,
            },
            BrakeRun::default(),
        ],
    }
}

pub(super) fn times() -> GetTimesResponse {
    let percentiles = Percentiles {
        count: 7,
        p50: Some(time(1, 0)),
        p95: Some(time(2, 0)),
        p99: Some(time(3, 500_000_000)),
    };
    let of = |phases: &[&str]| TimesOfChanges {
        at: Some(at(0, 0)),
        phases: phases
            .iter()
            .map(|phase| ((*phase).to_owned(), percentiles))
            .collect(),
    };
    GetTimesResponse {
        interval: Some(time(3600, 0)),
        total: Some(of(&[
            "applied",
            "buffered",
            "queued",
            "terraform",
            "blocked",
            "waiting",
        ])),
        intervals: vec![of(&["applied"])],
    }
}

pub(super) fn overview() -> GetOverviewResponse {
    let worker = |condition| OverviewWorker {
        id: "w-1-0197".into(),
        host: "w-1".into(),
        version: "v1".into(),
        condition,
        running: 1,
        slots: 4,
        engines: vec!["terraform 1.9.8".into()],
        other_settings: vec!["backend".into()],
        silent_for: Some(time(2, 0)),
        since: Some(at(0, 0)),
        problem: "No space left on device".into(),
    };
    GetOverviewResponse {
        problems: vec![Problem {
            task_name: "dns".into(),
            state: Some(current_state(CurrentStateName::Blind.into())),
            text: "cannot reach consul".into(),
        }],
        more_problems: 3,
        members: vec![OverviewMember {
            id: "cts-a".into(),
            healthy: true,
            leader: true,
            silent_for: Some(time(1, 0)),
        }],
        workers: every::<WorkerCondition>().map(worker).collect(),
        queue: Some(queue()),
        data: Some(ObservedData {
            views: 5,
            incomplete: 1,
            unreadable: 2,
            unreadable_since: Some(at(1, 0)),
            reason: "health.service(web): cannot reach consul".into(),
        }),
        tasks: BTreeMap::from([("blind".to_owned(), 1), ("never_run".to_owned(), 2)]),
        at: Some(at(3, 0)),
        watchers: vec![
            OverviewWatcher {
                address: "watcher-1:8561".into(),
                socket: "10.0.0.1:8561".into(),
                healthy: false,
                since: Some(at(2, 0)),
                reason: "Connection refused".into(),
            },
            OverviewWatcher {
                address: "watcher-2:8561".into(),
                ..OverviewWatcher::default()
            },
        ],
        brake: Some(brake()),
    }
}

/// Explanations in every phase and after every decision.
pub(super) fn explanations() -> impl Iterator<Item = Explanation> {
    let phases = every::<TaskPhase>().map(|phase| Explanation {
        phase,
        ..explanation()
    });
    let decisions = every::<DecisionKind>().map(|kind| Explanation {
        last_decision: Some(Decision {
            kind,
            ..Decision::default()
        }),
        ..Explanation::default()
    });
    phases.chain(decisions)
}

/// An overview with nothing in it.
pub(super) fn empty() -> GetOverviewResponse {
    GetOverviewResponse {
        problems: vec![Problem::default()],
        members: vec![OverviewMember::default()],
        workers: vec![OverviewWorker::default()],
        queue: Some(GetQueueResponse::default()),
        data: Some(ObservedData::default()),
        ..GetOverviewResponse::default()
    }
}
