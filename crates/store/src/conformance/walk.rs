//! Random sequences of operations, compared with the model step by step.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{AttemptOutcome, RunStatus};
use cts_core::{Event, RunId, TaskName, TaskStatus};

use super::Fixture;
use super::model::{Model, ModelCompleted, ModelEvent};
use super::scene::{LEASE, Scene, input, line, spec};
use crate::{EnqueueRequest, Lease, LeaseError, Requeued};

const WALKS: u64 = 12;
const STEPS: u32 = 400;
const TASKS: [&str; 3] = ["a", "b", "c"];
const INPUTS: [&str; 3] = ["1", "2", "3"];

/// Xorshift: the same seed walks the same way everywhere.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let bound = u64::try_from(choices.len()).unwrap_or(u64::MAX);
        let choice = self.below(bound.max(1));
        choices.get(usize::try_from(choice).unwrap_or(usize::MAX))
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

#[derive(Debug)]
struct Walk<F> {
    scene: Scene<F>,
    model: Model,
    dice: Dice,
    /// Every lease that was ever granted, the newest last.
    leases: Vec<Lease>,
    requests: Vec<EnqueueRequest>,
    /// The store's time at the beginning.
    start: Option<DateTime<Utc>>,
    /// What was done, for the message of a failure.
    trace: Vec<String>,
}

pub async fn random_walks_agree_with_the_model<F: Fixture>() {
    for seed in 1..=WALKS {
        let mut walk = Walk {
            scene: Scene::<F>::new(&TASKS).await,
            model: Model::default(),
            dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            leases: Vec::new(),
            requests: Vec::new(),
            start: None,
            trace: vec![format!("seed {seed}")],
        };
        walk.model.configure(&TASKS.map(spec));
        for _ in 0..STEPS {
            walk.step().await;
            walk.compare().await;
        }
        walk.compare_all().await;
    }
}

impl<F: Fixture> Walk<F> {
    fn told(&self) -> String {
        self.trace.join("\n")
    }

    async fn step(&mut self) {
        match self.dice.below(40) {
            0..10 => self.enqueue().await,
            10..20 => self.acquire().await,
            20..28 => self.complete().await,
            28..31 => self.renew().await,
            31..33 => self.log().await,
            33..37 => self.advance(),
            37 => self.take_back().await,
            38 => self.prune().await,
            _ => self.reconfigure().await,
        }
    }

    async fn enqueue(&mut self) {
        let mut requests = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let repeated = self.dice.one_in(6);
            let request = match self.dice.one_of(&self.requests).filter(|_| repeated) {
                Some(request) => request.clone(),
                None => EnqueueRequest {
                    task: super::task(self.dice.one_of(&TASKS).unwrap_or(&"a")),
                    input: input(self.dice.one_of(&INPUTS).unwrap_or(&"1")),
                    run: self.scene.run_id(),
                },
            };
            requests.push(request);
        }
        self.trace.push(format!("enqueue {requests:?}"));
        self.requests.clone_from(&requests);
        let expected: Vec<_> = requests
            .iter()
            .map(|request| self.model.enqueue(request))
            .collect();
        let answer = self.scene.request_all(requests).await;
        assert_eq!(answer, expected, "{}", self.told());
    }

    async fn acquire(&mut self) {
        self.trace.push("acquire".to_owned());
        let expected = self.model.acquire(LEASE);
        let lease = self.scene.acquire().await;
        assert_eq!(lease, expected, "{}", self.told());
        let Some(lease) = lease else { return };
        let earlier = self
            .leases
            .iter()
            .filter(|earlier| earlier.run == lease.run);
        let highest = earlier.map(|earlier| earlier.epoch).max();
        assert!(highest < Some(lease.epoch), "{}", self.told());
        self.leases.push(lease);
    }

    /// Mostly one of the newest, which may be live; sometimes an old one.
    fn some_lease(&mut self) -> Option<Lease> {
        let oldest = self
            .leases
            .len()
            .saturating_sub(if self.dice.one_in(4) { 12 } else { 3 });
        self.dice.one_of(&self.leases[oldest..]).cloned()
    }

    async fn complete(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        let outcome = match self.dice.below(6) {
            0..2 => AttemptOutcome::Applied,
            2..5 => AttemptOutcome::Failed(format!("error {}", self.trace.len())),
            _ => AttemptOutcome::Interrupted,
        };
        let applied = outcome == AttemptOutcome::Applied;
        let mut completion = self.scene.completion(&lease, outcome);
        completion.jitter = *self.dice.one_of(&[0.0, 0.25, 0.5]).unwrap_or(&0.0);
        completion.log = vec![line(format!("end {}", self.trace.len()))];
        self.trace.push(format!("complete {completion:?}"));
        let expected = self.model.complete(&completion);
        let answer = match self.scene.store().complete(completion).await {
            Ok(completed) => Some(ModelCompleted {
                status: completed.status,
                event: completed.event.as_ref().map(model_event),
                next_due: completed.next_due,
            }),
            Err(error) => {
                assert!(matches!(error, LeaseError::Lost { .. }), "{error:?}");
                None
            }
        };
        assert_eq!(answer, expected, "{}", self.told());
        let settled = answer.is_some_and(|answer| answer.status == RunStatus::Succeeded);
        assert!(
            !settled || applied,
            "settled without success: {}",
            self.told()
        );
    }

    async fn renew(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        self.trace.push(format!("renew {lease:?}"));
        let expected = self.model.renew(lease.run, lease.epoch, LEASE);
        let answer = self
            .scene
            .store()
            .renew(lease.run, lease.epoch, LEASE)
            .await;
        assert_eq!(answer.is_ok(), expected, "{}", self.told());
    }

    async fn log(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        let text = format!("line {}", self.trace.len());
        self.trace.push(format!("log {text} {lease:?}"));
        let live = self.model.live(lease.run, lease.epoch);
        let expected = live.map(|run| run.log.push(text.clone())).is_some();
        let append = self
            .scene
            .store()
            .append_log(lease.run, lease.epoch, vec![line(text)])
            .await;
        assert_eq!(append.is_ok(), expected, "{}", self.told());
    }

    fn advance(&mut self) {
        let by = [
            1, 500_000, 1_000_000, 2_000_000, 16_000_000, 30_000_000, 90_000_000,
        ];
        let by = Duration::from_micros(*self.dice.one_of(&by).unwrap_or(&1));
        self.trace.push(format!("advance {by:?}"));
        self.model.now += by;
        self.scene.advance(by);
    }

    async fn take_back(&mut self) {
        let all = self.dice.one_in(3);
        self.trace.push(format!("take back, all: {all}"));
        let until = if all { Duration::MAX } else { self.model.now };
        let expected = self.model.take_back(until);
        let store = self.scene.store();
        let answer = if all {
            store.release_all().await
        } else {
            store.reap().await
        };
        let mut answer: Vec<Requeued> = answer.expect("leases can be taken back");
        answer.sort_by_key(|requeued| requeued.run);
        assert_eq!(answer, expected, "{}", self.told());
    }

    async fn prune(&mut self) {
        let keep = u32::try_from(self.dice.below(8)).unwrap_or_default();
        self.trace.push(format!("prune {keep}"));
        let expected = self.model.prune(keep as usize);
        let pruned = self.scene.store().prune(keep).await;
        assert_eq!(
            pruned.expect("old runs can be forgotten"),
            expected,
            "{}",
            self.told()
        );
    }

    async fn reconfigure(&mut self) {
        if self.dice.one_in(4) {
            self.trace.push("restart".to_owned());
            self.scene.restart().await;
            return;
        }
        let mut specs: Vec<_> = TASKS.map(spec).into();
        for spec in &mut specs {
            spec.enabled = !self.dice.one_in(4);
            spec.skip_unchanged = !self.dice.one_in(3);
            spec.retry_failed = !self.dice.one_in(3);
        }
        if self.dice.one_in(4) {
            specs.remove(1);
        }
        self.trace.push(format!("configure {specs:?}"));
        self.model.configure(&specs);
        self.scene.configure(&specs).await;
    }

    /// What must hold after every step.
    async fn compare(&mut self) {
        let store = self.scene.store();
        assert_eq!(
            self.scene.next_due().await,
            self.model.next_due(),
            "{}",
            self.told()
        );
        let states = store.task_states(None).await.expect("states can be read");
        let names: Vec<_> = states.iter().map(|state| state.task.clone()).collect();
        let expected: Vec<TaskName> = self.model.tasks.keys().cloned().collect();
        assert_eq!(names, expected, "{}", self.told());
        for state in states {
            let task = &self.model.tasks[&state.task];
            let events: Vec<_> = state.events.iter().map(model_event).collect();
            let expected: Vec<_> = task.events.iter().rev().take(5).cloned().collect();
            assert_eq!(events, expected, "{}", self.told());
            assert_eq!(state.enabled, task.spec.enabled);
            let status = TaskStatus::derive(expected.iter().map(|event| event.success));
            assert_eq!(state.status, status, "{}", self.told());
        }
        let live = |run: &RunStatus| matches!(run, RunStatus::Queued | RunStatus::Running);
        let runs = self.model.runs.iter().filter(|(_, run)| live(&run.status));
        let runs: Vec<_> = runs.map(|(id, _)| *id).collect();
        for run in runs {
            self.compare_run(run).await;
        }
    }

    async fn compare_run(&mut self, id: RunId) {
        let record = self.scene.run(id).await;
        let run = &self.model.runs[&id];
        let start = *self.start.get_or_insert(record.created_at - run.created);
        let told = || self.trace.join("\n");
        assert_eq!(
            (&record.task, record.status),
            (&run.task, run.status),
            "{}",
            told()
        );
        assert_eq!(
            (record.input, record.attempts),
            (run.input, run.attempts),
            "{}",
            told()
        );
        assert_eq!(record.created_at, start + run.created, "{}", told());
        if run.status == RunStatus::Queued {
            assert_eq!(record.due_at, start + run.due, "{}", told());
        }
    }

    async fn compare_all(&mut self) {
        let runs: Vec<_> = self.model.runs.keys().copied().collect();
        for id in runs {
            self.compare_run(id).await;
            let page = self.scene.store().read_log(id, 0, 1000).await;
            let page = page.expect("logs can be read").expect("the run is there");
            let texts: Vec<_> = page.lines.into_iter().map(|line| line.text).collect();
            assert_eq!(texts, self.model.runs[&id].log, "{}", self.told());
        }
        for request in &self.requests {
            let known = self.model.runs.contains_key(&request.run);
            let found = self.scene.find_run(request.run).await.is_some();
            assert_eq!(found, known, "{}", self.told());
        }
        for text in INPUTS {
            let hash = input(text).hash;
            let stored = self
                .scene
                .store()
                .input(hash)
                .await
                .expect("inputs can be read");
            let expected = self.model.inputs.contains(&hash);
            assert_eq!(stored.is_some(), expected, "{}", self.told());
        }
    }
}

fn model_event(event: &Event) -> ModelEvent {
    ModelEvent {
        id: event.id,
        run: event.run_id,
        success: event.success,
        error: event.error.clone(),
    }
}
