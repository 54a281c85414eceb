//! Numbers of the whole cluster, as the leader reads them from the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cts_core::brake::NotedFleet;
use cts_core::{TaskStatus, UnschedulableReason};
use cts_store::{QueueDepth, Store, StoreError, TaskState, WaitingRuns, WorkerState};
use cts_telemetry::TaskNames;

use crate::approval::waiting::{oldest, waiting};
use crate::liveness::{FORGOTTEN_AFTER, is_lost};
use crate::unschedulable::{UNSCHEDULABLE_AFTER, reason, why_unschedulable};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClusterNumbers {
    pub(crate) queue: QueueDepth,
    /// Due runs that no worker can take, and not only because all are busy.
    pub(crate) unschedulable: u64,
    /// Workers by state.
    pub(crate) workers: [(&'static str, u64); 3],
    /// Slots of active workers.
    pub(crate) slots: u64,
    /// Their slots with a run.
    pub(crate) busy: u64,
    /// Tasks by status, in the order of [`TaskStatus::ALL`].
    pub(crate) statuses: [u64; 4],
    pub(crate) blocked: u64,
    /// The brake of the fleet.
    pub(crate) brake: NotedFleet,
    /// Effects that wait for the consent of a person.
    pub(crate) approvals: u64,
    /// How long the oldest of them has waited, in seconds.
    pub(crate) oldest_approval: u64,
    /// Failures in a row, by the label of the task.
    pub(crate) failures: BTreeMap<Arc<str>, u64>,
}

/// The tasks at one version of the store.
#[derive(Debug, Default)]
pub(crate) struct TaskNumbers {
    version: Option<String>,
    labelled: Vec<String>,
    statuses: [u64; 4],
    blocked: u64,
    failures: BTreeMap<Arc<str>, u64>,
}

impl TaskNumbers {
    /// Reads the tasks again if they may have changed.
    async fn refresh(&mut self, store: &dyn Store, names: &TaskNames) -> Result<(), StoreError> {
        let version = Some(store.version().await?);
        if self.version != version {
            self.count(&store.task_states(None).await?, names);
            self.version = version;
        }
        Ok(())
    }

    fn count(&mut self, states: &[TaskState], names: &TaskNames) {
        let mut before = std::mem::take(&mut self.labelled);
        before.retain(|task| !states.iter().any(|state| state.task.as_str() == task));
        for gone in before {
            names.forget(&gone);
        }
        self.blocked = 0;
        self.statuses = [0; 4];
        self.failures.clear();
        for state in states {
            let index = TaskStatus::ALL.iter().position(|it| *it == state.status);
            if let Some(count) = index.and_then(|index| self.statuses.get_mut(index)) {
                *count += 1;
            }
            self.blocked += u64::from(state.held.is_some());
            let failed = state
                .events
                .iter()
                .take_while(|event| !event.success)
                .count();
            let failed = u64::try_from(failed).unwrap_or(u64::MAX);
            let label = names.label(state.task.as_str());
            if *label == *state.task.as_str() {
                self.labelled.push(state.task.to_string());
            }
            let most = self.failures.entry(label).or_default();
            *most = failed.max(*most);
        }
    }
}

impl ClusterNumbers {
    /// Reads the numbers, as they are `now`.
    pub(crate) async fn read(
        store: &dyn Store,
        tasks: &mut TaskNumbers,
        names: &TaskNames,
        now: DateTime<Utc>,
    ) -> Result<Self, StoreError> {
        tasks.refresh(store, names).await?;
        let queue = store.queue_depth().await?;
        let workers = store.workers(FORGOTTEN_AFTER).await?;
        let waiting_runs = match queue.ready {
            0 => Vec::new(),
            _ => store.waiting_runs(UNSCHEDULABLE_AFTER).await?,
        };
        let approvals = store.approvals().await?;
        let approvals = waiting(&approvals);
        let oldest = oldest(&approvals).unwrap_or(now);
        let active = || {
            let workers = WorkerState::shown(&workers);
            workers.filter(|worker| !is_lost(worker) && !worker.worker.draining)
        };
        Ok(Self {
            queue,
            unschedulable: unschedulable(&waiting_runs, &workers),
            workers: by_state(&workers),
            slots: active().map(|worker| u64::from(worker.worker.slots)).sum(),
            busy: active().map(|worker| u64::from(worker.running)).sum(),
            statuses: tasks.statuses,
            blocked: tasks.blocked,
            brake: store.brake().await?.fleet,
            approvals: u64::try_from(approvals.len()).unwrap_or(u64::MAX),
            oldest_approval: (now - oldest).num_seconds().try_into().unwrap_or(0),
            failures: tasks.failures.clone(),
        })
    }
}

fn unschedulable(waiting: &[WaitingRuns], workers: &[WorkerState]) -> u64 {
    let counted = waiting.iter().filter(|runs| {
        let busy = why_unschedulable(runs, workers)
            .is_some_and(|reason| UnschedulableReason::ends_by_itself(&reason));
        !busy && reason(runs, workers).is_some()
    });
    counted.map(|runs| runs.runs).sum()
}

fn by_state(workers: &[WorkerState]) -> [(&'static str, u64); 3] {
    let [mut active, mut draining, mut lost] = [0; 3];
    for worker in WorkerState::shown(workers) {
        if is_lost(worker) {
            lost += 1;
        } else if worker.worker.draining {
            draining += 1;
        } else {
            active += 1;
        }
    }
    [("active", active), ("draining", draining), ("lost", lost)]
}
