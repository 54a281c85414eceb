//! The steps of replicas and workers.

use cts_core::runs::RunKinds;
use cts_core::{LeaderEpoch, WorkerId};

use super::Walk;
use crate::Fixture;
use crate::scene::{LEASE, capabilities, life as life_of, seconds, worker_record};
use cts_store::{Claim, Heartbeat};

const REPLICAS: [&str; 2] = ["one", "two"];
const WORKERS: [&str; 2] = ["worker-1", "worker-2"];

impl<F: Fixture> Walk<F> {
    fn some_replica(&mut self) -> usize {
        usize::from(self.dice.one_in(2))
    }

    /// Returns mostly the newest epoch, which may be in force; sometimes the one before, and seldom one that
    /// does not exist yet.
    pub(super) fn some_epoch(&mut self) -> LeaderEpoch {
        match self.dice.below(12) {
            0 => self.epochs[1],
            1 => LeaderEpoch::new(self.epochs[0].get() + 1),
            _ => self.epochs[0],
        }
    }

    pub(super) async fn lead(&mut self) {
        let replica = self.some_replica();
        if self.dice.one_in(6) {
            self.known[replica] = None;
        }
        // Seldom a process dies and another process gets its id.
        if self.dice.one_in(8) {
            self.lives[replica] += 1;
            self.known[replica] = None;
        }
        // Seldom the earlier life was not dead.
        let earlier = self.dice.one_in(8);
        let life = self.lives[replica] - u8::from(earlier && self.lives[replica] > 1);
        let known = self.known[replica];
        let time_to_live = [seconds(15), seconds(100), seconds(200_000)];
        let time_to_live = *self.dice.one_of(&time_to_live).unwrap_or(&LEASE);
        let member = life_of(REPLICAS[replica], life);
        self.trace
            .push(format!("lead {member:?} {known:?} {time_to_live:?}"));
        let expected = self.model.lead(&member, known, time_to_live);
        let answer = self.scene.lead_in_life(&member, known, time_to_live).await;
        assert_eq!(answer, expected, "{}", self.story());
        self.known[replica] = Some(answer.epoch);
        if answer.epoch != self.epochs[0] {
            self.epochs = [answer.epoch, self.epochs[0]];
        }
    }

    pub(super) async fn resign(&mut self) {
        let replica = self.some_replica();
        let member = life_of(REPLICAS[replica], self.lives[replica]);
        self.trace.push(format!("resign {member:?}"));
        self.model.resign(&member);
        let resigned = self.scene.store().resign(&member).await;
        resigned.expect("a replica can resign");
    }

    pub(super) fn some_claim(&mut self) -> Claim {
        let worker = self.dice.one_of(&WORKERS).unwrap_or(&"worker-1");
        let everything = [("terraform", "1.9.8"), ("tofu", "1.7.0"), ("tofu", "1.8.0")];
        let engines = match self.dice.below(6) {
            0 => &everything[..1],
            1 => &everything[..2],
            2 => &everything[1..],
            _ => &everything,
        };
        Claim {
            worker: WorkerId::new(*worker),
            request: String::new(),
            capabilities: capabilities(engines, !self.dice.one_in(3)),
            kinds: RunKinds {
                applies: !self.dice.one_in(5),
                plans: !self.dice.one_in(5),
                checks: !self.dice.one_in(5),
                destroys: !self.dice.one_in(5),
                destroy_plans: !self.dice.one_in(5),
            },
            only_requested: self.dice.one_in(5),
            checks_settings: false,
            names_previous_backend: false,
            ends_remote_runs: false,
            asks_permission: true,
            time_to_live: LEASE,
        }
    }

    pub(super) async fn heartbeat(&mut self) {
        let id = self.dice.one_of(&WORKERS).unwrap_or(&"worker-1");
        let mut record = worker_record(id);
        record.draining = self.dice.one_in(5);
        self.trace
            .push(format!("heartbeat {id} {}", record.draining));
        let expected = self.model.heartbeat(&record.id, record.draining);
        let drain = self.scene.store().record_heartbeat(&record, None).await;
        let drain = drain.expect("a worker can be noted");
        let expected = Heartbeat::Noted { drains: expected };
        assert_eq!(drain, expected, "{}", self.story());
    }

    pub(super) async fn drain(&mut self) {
        let id = self.dice.one_of(&WORKERS).unwrap_or(&"worker-1");
        let id = worker_record(id).id;
        self.trace.push(format!("drain {id}"));
        let expected = self.model.drain(&id);
        let known = self.scene.store().drain_worker(&id).await;
        let known = known.expect("a worker can be told");
        assert_eq!(known, expected, "{}", self.story());
    }

    pub(super) async fn forget(&mut self) {
        let id = self.dice.one_of(&WORKERS).unwrap_or(&"worker-1");
        let id = worker_record(id).id;
        self.trace.push(format!("forget {id}"));
        self.model.forget(&id);
        let forgotten = self.scene.store().forget_worker(&id).await;
        forgotten.expect("a worker can be forgotten");
    }
}
