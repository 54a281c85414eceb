//! Every call that must stay fast.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use cts_core::runs::{AttemptOutcome, Cause, RunKind, RunStatus};
use cts_core::state::{StateConflict, StateDecision, StateReport, TerraformState};
use cts_core::{
    CauseId, Creation, Digest, Engine, EventId, Incarnation, LeaderEpoch, REMOTE_DRIVER, RemoteRun,
    RunId, TaskName, WorkerId,
};
use cts_store::FactStore as _;
use cts_store::{
    Assignment, Claim, Completion, ConfigurationStore as _, EnqueueRequest, ExpiredLeases,
    HeldLeases as _, Housekeeping as _, Lease, LogLine, LogRange, LogStream, NewTask,
    PlanStore as _, Refused, RefusedCode, RemoteRunStore as _, Retention, RunFilter,
    SettingsChange, SettingsStore as _, Store as _, TaskChange, WorkerStore as _,
};
use cts_store_conformance::{
    claim, completion_of, enqueue_request, member, spec, task, worker_record,
};
use cts_store_postgres::PostgresStore;
use uuid::Uuid;

/// Life of the leadership; longer than any test.
const LIFE: Duration = Duration::from_hours(1);

/// Tasks whose inputs are enqueued at once.
const AT_ONCE: usize = 20;

pub(crate) struct Calls {
    store: PostgresStore,
    leader: LeaderEpoch,
    number: usize,
}

fn run_id() -> RunId {
    RunId::from_uuid(Uuid::now_v7())
}

fn request(task: &TaskName, text: &str) -> EnqueueRequest {
    // It is not forgotten by its age.
    let at = DateTime::from_timestamp(4_000_000_000, 0).unwrap();
    let cause = Cause::new(CauseId::from_uuid(Uuid::now_v7()), at);
    EnqueueRequest {
        causes: vec![Arc::new(cause)],
        ..enqueue_request(task.as_str(), text, run_id())
    }
}

fn lines(number: usize) -> Vec<LogLine> {
    let line = |n| LogLine {
        stream: LogStream::Stdout.into(),
        text: format!("line {n}"),
    };
    (0..number).map(line).collect()
}

fn completion(lease: &Lease, outcome: AttemptOutcome) -> Completion {
    let event = EventId::from_uuid(Uuid::now_v7());
    Completion {
        jitter: 0.5,
        log: lines(3),
        state: TerraformState::new("a-lineage", 8).ok(),
        ..completion_of(lease, outcome, event, run_id())
    }
}

/// All reports about a state that the holder of a lease can make.
fn reports() -> [StateReport; 3] {
    let state = TerraformState::new("a-lineage", 7).unwrap();
    [
        StateReport::Accepted(Some(state.clone())),
        StateReport::Moved(state),
        StateReport::Refused(StateConflict {
            reason: "both were changed".to_owned(),
            old: None,
            new: None,
        }),
    ]
}

impl Calls {
    pub(crate) async fn begin(store: PostgresStore) -> Self {
        let leadership = store.lead(&member("one"), None, LIFE).await.unwrap();
        Self {
            store,
            leader: leadership.epoch,
            number: 0,
        }
    }

    pub(crate) fn leader(&self) -> LeaderEpoch {
        self.leader
    }

    /// Makes all calls this many times, and one deletion of old rows.
    pub(crate) async fn all(&mut self, times: usize, names: &[String]) {
        self.work(times, names).await;
        self.look(times).await;
        for _ in 0..times {
            self.store.tasks().await.unwrap();
            self.store.task_states(None).await.unwrap();
            let changed = self.store.changed_tasks(None).await.unwrap();
            let after = Some(changed.position.as_str());
            self.store.changed_tasks(after).await.unwrap();
            let few = &changed.names[..changed.names.len().min(50)];
            self.store.task_facts(few).await.unwrap();
            self.store.shown_runs().await.unwrap();
            self.store.task_marks().await.unwrap();
            self.store.has_open_runs().await.unwrap();
            let open = RunFilter {
                status: Some(RunStatus::Queued),
                limit: u32::MAX,
                ..RunFilter::default()
            };
            self.store.runs(&open).await.unwrap();
        }
        let retention = Retention {
            runs: 99,
            age: Duration::from_hours(24 * 30 - 1),
        };
        self.store.prune(retention).await.unwrap();
        let space = self.store.log_space().await.unwrap();
        self.store.remove_logs(space.div_ceil(100)).await.unwrap();
        self.store.times(DateTime::UNIX_EPOCH).await.unwrap();
        let space = self.store.plan_space().await.unwrap();
        self.store.remove_plans(space.div_ceil(100)).await.unwrap();
    }

    /// The calls that change runs or tasks, each with some of these tasks.
    pub(crate) async fn work(&mut self, times: usize, names: &[String]) {
        for time in 0..times {
            self.number += 1;
            let begin = time * 997 % names.len();
            let names = names
                .iter()
                .cycle()
                .skip(begin)
                .take(AT_ONCE.min(names.len()));
            let names: Vec<TaskName> = names.map(|name| task(name)).collect();
            self.enqueue(&names).await;
            self.run_some().await;
            self.change_settings().await;
            self.change(&names[0]).await;
            self.reap().await;
        }
    }

    async fn enqueue(&self, names: &[TaskName]) {
        let number = self.number;
        let of = |text: &str| {
            let requests = names
                .iter()
                .map(|name| request(name, &format!("{text} {number} {name}")));
            requests.collect::<Vec<_>>()
        };
        for text in ["new", "newer"] {
            let queued = self.store.enqueue(self.leader, of(text)).await.unwrap();
            assert_eq!(queued.len(), names.len());
        }
    }

    async fn change_settings(&self) {
        let unsettled = self.store.unsettled_runs().await.unwrap();
        // Nothing is changed: the runs have other settings than these.
        let assigned = unsettled.iter().take(AT_ONCE).map(|run| Assignment {
            run: run.run,
            from: Some(9),
            to: 3,
        });
        let change = SettingsChange {
            moved: vec![(1, 2), (2, 3)],
            assigned: assigned.collect(),
            workers: vec![(WorkerId::new("w"), vec![3])],
            ..SettingsChange::default()
        };
        let changed = self.store.change_settings(self.leader, &change).await;
        changed.unwrap();
        self.store.settings().await.unwrap();
    }

    async fn run_some(&self) {
        let store = &self.store;
        let failed = || AttemptOutcome::Failed("it failed".to_owned());
        for outcome in [
            AttemptOutcome::Applied,
            failed(),
            AttemptOutcome::Interrupted,
        ] {
            let mut claim = Claim {
                request: format!("request {}", self.number),
                checks_settings: true,
                names_previous_backend: false,
                ends_remote_runs: true,
                asks_permission: true,
                ..claim()
            };
            claim.capabilities.engines.push(Engine {
                driver: REMOTE_DRIVER.to_owned(),
                version: "1".to_owned(),
            });
            let lease = store.acquire(&claim).await.unwrap();
            let lease = lease.expect("runs wait");
            let holder = (&lease.holder, lease.epoch);
            let granted = store.grants(holder.0, &[claim.request]).await.unwrap();
            assert_eq!(granted.len(), 1);
            store
                .renew(lease.run, holder.0, holder.1, LIFE, None)
                .await
                .unwrap();
            let recorded = store.record_plan(lease.run, holder.0, holder.1, b"a plan");
            recorded.await.unwrap();
            assert!(store.recorded_plan(lease.run).await.unwrap().is_some());
            store
                .append_log(lease.run, holder.0, holder.1, lines(10))
                .await
                .unwrap();
            store
                .suspend(lease.run, holder.0, holder.1, 1, "a person")
                .await
                .unwrap();
            store.wait_end(lease.run, holder.0, holder.1).await.unwrap();
            let input = store.held_input(lease.run, holder.0, holder.1).await;
            assert_eq!(input.unwrap(), lease.input);
            let order = store.cancel_order(lease.run, holder.0, holder.1).await;
            assert_eq!(order.unwrap(), None);
            store
                .resume(lease.run, holder.0, holder.1, 1)
                .await
                .unwrap();
            for report in reports() {
                store
                    .record_state(lease.run, holder.0, holder.1, &report)
                    .await
                    .unwrap();
            }
            let remote = RemoteRun {
                id: Some("run-1".to_owned()),
                ..RemoteRun::default()
            };
            store
                .record_remote_run(lease.run, holder.0, holder.1, &remote)
                .await
                .unwrap();
            let runs = store.remote_runs(lease.run, holder.0, holder.1).await;
            let recorded = RemoteRun {
                input: Some(lease.input),
                ..remote
            };
            assert_eq!(runs.unwrap().own, Some(recorded));
            store.read_log(lease.run, 5, 100).await.unwrap().unwrap();
            for newest_first in [false, true] {
                let wanted = LogRange {
                    run: lease.run,
                    after: 1,
                    before: 100,
                    newest_first,
                    limit: 250,
                    text: "x".to_owned(),
                };
                store.log_excerpts(&wanted).await.unwrap();
            }
            store.input(lease.input).await.unwrap();
            let names = [lease.task.clone()];
            store.applied_inputs(&names).await.unwrap();
            store.run(lease.run).await.unwrap().unwrap();
            store.complete(completion(&lease, outcome)).await.unwrap();
            let scheduler = Incarnation::from_uuid(Uuid::from_u128(1));
            let counted = store.count_applied(scheduler, &[lease.run]).await;
            counted.unwrap();
            self.tick(&lease).await;
            store.task_state(&lease.task).await.unwrap().unwrap();
        }
    }

    /// With the input of a lease that has ended.
    async fn tick(&self, lease: &Lease) {
        let mut tick = request(&lease.task, "");
        tick.input.hash = lease.input;
        tick.tick = Some(EventId::from_uuid(Uuid::now_v7()));
        let ticked = self.store.enqueue(self.leader, vec![tick]).await;
        assert_eq!(ticked.unwrap().len(), 1);
    }

    async fn change(&self, name: &TaskName) {
        let store = &self.store;
        for enabled in [false, true] {
            let change = TaskChange {
                enabled: Some(enabled),
                request: enabled.then(|| (run_id(), RunKind::Plan)),
                ..TaskChange::default()
            };
            store.change_task(name, &change).await.unwrap();
        }
        store.terraform_state(name).await.unwrap().unwrap();
        let check = EnqueueRequest {
            kind: RunKind::Check,
            check_key: Some(Digest::of(b"")),
            ..request(name, "check")
        };
        let queued = store.enqueue(self.leader, vec![check]).await;
        assert!(queued.unwrap()[0].queued.is_some());
        let known = store.checks(std::slice::from_ref(name)).await;
        assert_eq!(known.unwrap().len(), 1);
        let from = StateDecision::From(task("an-earlier-one"));
        store
            .decide_terraform_state(name, &from, run_id())
            .await
            .unwrap();
        for request in store.requests().await.unwrap() {
            store.request(request.run).await.unwrap().unwrap();
            store
                .refuse(self.leader, request.run, &not_now())
                .await
                .unwrap();
        }
        let run = run_id();
        let draft = NewTask {
            spec: spec(&format!("draft-{}", self.number)),
            creation: Creation::Keep,
            run,
            kind: RunKind::Check,
        };
        store.create_task(&draft).await.unwrap();
        store.refuse(self.leader, run, &not_now()).await.unwrap();
        store.drop_draft(draft.spec.name(), run).await.unwrap();
        let key = "01a22daf-6aa5-4201-a13a-d57732635ac3".parse().unwrap();
        let plan = store.plan_destruction(name, run_id(), Some(key));
        plan.await.unwrap();
        let explanation = [(name.clone(), "it waits".to_owned())];
        store.explain(self.leader, &explanation).await.unwrap();
        store.explanation(name).await.unwrap();
    }

    /// Takes back leases.
    pub(crate) async fn reap(&self) {
        let ids = || ExpiredLeases {
            event: EventId::from_uuid(Uuid::now_v7()),
            retry_run: run_id(),
            jitter: 0.5,
        };
        let each: Vec<_> = (0..16).map(|_| ids()).collect();
        self.store.reap(self.leader, &each).await.unwrap();
    }

    /// The calls that change no run.
    pub(crate) async fn look(&self, times: usize) {
        let store = &self.store;
        for _ in 0..times {
            store
                .lead(&member("one"), Some(self.leader), LIFE)
                .await
                .unwrap();
            store
                .record_heartbeat(&worker_record("worker-1"), None)
                .await
                .unwrap();
            store
                .registration(&WorkerId::new("worker-1"))
                .await
                .unwrap();
            store.workers(LIFE).await.unwrap();
            store.members(LIFE).await.unwrap();
            store.configuration_version().await.unwrap();
            store.version().await.unwrap();
            store.next_due().await.unwrap();
            store.queue_depth().await.unwrap();
            store.waiting_runs(Duration::from_secs(5)).await.unwrap();
            store.retry_failed_now(Duration::ZERO).await.unwrap();
            self.list().await;
        }
    }

    async fn list(&self) {
        let first = RunFilter {
            limit: 100,
            ..RunFilter::default()
        };
        let page = self.store.runs(&first).await.unwrap();
        let behind = RunFilter {
            after: page.last().map(|run| run.id),
            ..first.clone()
        };
        let of_task = RunFilter {
            task: page.last().map(|run| run.task.clone()),
            ..first.clone()
        };
        let failed = RunFilter {
            status: Some(RunStatus::Failed),
            ..first.clone()
        };
        let running = RunFilter {
            status: Some(RunStatus::Running),
            ..first.clone()
        };
        let awaiting = RunFilter {
            awaits: true,
            ..first.clone()
        };
        let names = self.store.tasks_with_runs("", 10).await.unwrap();
        let of_tasks = RunFilter {
            tasks: Some(names),
            ..first
        };
        let causes = self.store.causes(None, None, 20).await.unwrap();
        let from = causes.first().map(|cause| cause.id.parse().unwrap());
        let names = of_tasks.tasks.as_deref();
        self.store.causes(from, names, 20).await.unwrap();
        let of_cause = RunFilter {
            cause: from,
            ..behind.clone()
        };
        for filter in [
            behind, of_task, failed, running, awaiting, of_tasks, of_cause,
        ] {
            self.store.runs(&filter).await.unwrap();
        }
    }
}

fn not_now() -> Refused {
    Refused {
        code: RefusedCode::Incomplete,
        reason: "not now".to_owned(),
    }
}
