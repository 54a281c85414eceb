//! Three tasks that are applied, and a switch of the timeline.

use std::time::Duration;

use cts_core::runs::EnqueueDecision;
use cts_core::{JournalEntry, JournalPart, LeaderEpoch, LeaseEpoch, RunId, TaskName, WorkerId};
use cts_store::{
    Continuity as _, EnqueueRequest, Lease, Settlement, Store as _, Unchanged, Vouched,
    WorkerStore as _,
};
use cts_store_conformance::{input, spec, task, worker_record};
use cts_store_postgres::PostgresStore;
use uuid::Uuid;

use crate::fixture::{execute, migrated, settings};
use crate::outage::{applied, claim, lead, request};

/// Life of the leases here.
pub(super) const LIFE: Duration = Duration::from_secs(40);

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// Three applied tasks, by live workers.
pub(super) struct Scene {
    pub(super) url: String,
    pub(super) store: PostgresStore,
    pub(super) leader: LeaderEpoch,
    pub(super) leases: Vec<Lease>,
}

impl Scene {
    pub(super) async fn start(workers: &[&str]) -> Self {
        let url = migrated().await;
        let store = cts_store_postgres::connect(&settings(&url)).await.unwrap();
        let leader = lead(&store, "one").await;
        let specs = NAMES.map(spec);
        store.replace_config_tasks(leader, &specs).await.unwrap();
        for worker in workers {
            store
                .record_heartbeat(&worker_record(worker), None)
                .await
                .unwrap();
        }
        let mut scene = Self {
            url,
            store,
            leader,
            leases: Vec::new(),
        };
        for name in NAMES {
            let lease = scene.lease(name, "1", workers[0]).await;
            scene.store.complete(applied(&lease)).await.unwrap();
            scene.leases.push(lease);
        }
        scene
    }

    pub(super) async fn lease(&self, name: &str, text: &str, worker: &str) -> Lease {
        let queued = vec![request(name, text)];
        self.store.enqueue(self.leader, queued).await.unwrap();
        let lease = self.store.acquire(&claim(worker)).await.unwrap().unwrap();
        assert_eq!(lease.task, task(name));
        lease
    }

    /// Queues a run of this task with the applied input, and returns the journal entry of a worker that it
    /// was granted to.
    pub(super) async fn wait_for_grant(&self, name: &str) -> JournalEntry {
        let waiting = EnqueueRequest {
            unchanged: Unchanged::Run,
            ..request(name, "1")
        };
        let run = waiting.run;
        self.store
            .enqueue(self.leader, vec![waiting])
            .await
            .unwrap();
        JournalEntry { run, ..lost(name) }
    }

    /// Switches to a new timeline, which has exactly the data that the database has now.
    pub(super) async fn switch(&mut self) {
        self.switch_on("the one before").await;
    }

    /// Begins a new timeline after one with this name, which may have doubts.
    pub(super) async fn switch_on(&mut self, identity: &str) {
        let renamed = format!(
            "UPDATE continuity SET doubts_of = CASE WHEN doubts_of = identity THEN '{identity}' END, identity = '{identity}'"
        );
        execute(&self.url, &renamed).await;
        self.store = cts_store_postgres::connect(&settings(&self.url))
            .await
            .unwrap();
        self.leader = lead(&self.store, "one").await;
    }

    /// Everything was so much earlier.
    pub(super) async fn pass(&self, time: Duration) {
        let micros = time.as_micros();
        let switch = format!("UPDATE continuity SET changed_at = changed_at - {micros}");
        let runs = format!(
            "UPDATE runs SET started_at = started_at - {micros}, finished_at = finished_at - {micros},
                             updated_at = updated_at - {micros}"
        );
        for statement in [switch, runs] {
            execute(&self.url, &statement).await;
        }
    }

    pub(super) async fn report(&self, lives: &[&str], entries: Vec<JournalEntry>) -> Vouched {
        let part = JournalPart {
            timeline: self.store.timeline().await.unwrap().reported.unwrap(),
            lives: lives.iter().map(|life| WorkerId::new(*life)).collect(),
            entries,
            last: true,
        };
        self.store.vouch(&part).await.unwrap()
    }

    /// The journal of a worker that has begun these runs.
    pub(super) fn entries(&self) -> Vec<JournalEntry> {
        self.leases.iter().map(entry).collect()
    }

    pub(super) async fn settle(&self) -> Settlement {
        self.store.settle(self.leader, LIFE).await.unwrap()
    }

    /// The tasks that run when a new leader sees their unchanged input.
    pub(super) async fn run_again(&self) -> Vec<&'static str> {
        let requests = NAMES.map(first).to_vec();
        let decided = self.store.enqueue(self.leader, requests).await.unwrap();
        let runs = decided.iter().zip(NAMES).filter_map(|(enqueued, name)| {
            (enqueued.decision == Some(EnqueueDecision::Enqueue)).then_some(name)
        });
        runs.collect()
    }
}

pub(super) fn first(name: &str) -> EnqueueRequest {
    EnqueueRequest {
        unchanged: Unchanged::Skip,
        ..request(name, "1")
    }
}

pub(super) fn entry(lease: &Lease) -> JournalEntry {
    JournalEntry {
        task: lease.task.clone(),
        run: lease.run,
        epoch: lease.epoch,
        input: input("1").hash,
        began_at: None,
        outcome: Some("applied".to_owned()),
    }
}

/// A journal entry of a run that only the worker has.
pub(super) fn lost(name: &str) -> JournalEntry {
    JournalEntry {
        task: task(name),
        run: RunId::from_uuid(Uuid::now_v7()),
        epoch: LeaseEpoch::new(1),
        input: input("2").hash,
        began_at: None,
        outcome: None,
    }
}

pub(super) fn names(tasks: &[TaskName]) -> Vec<&str> {
    tasks.iter().map(TaskName::as_str).collect()
}

pub(super) const fn trusted(trusted: u64, untrusted: u64) -> Settlement {
    Settlement::Trusted { trusted, untrusted }
}
