//! Random sequences of operations, compared with the model step by step.

mod cancels;
mod cluster;
mod compare;
pub(crate) mod dice;
mod tasks;
mod waits;

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{AttemptOutcome, RunKind, RunStatus};
use cts_core::{LeaderEpoch, Requirement, TaskSpec};

use self::dice::Dice;
use super::Fixture;
use super::model::{Model, ModelCompleted, ModelEvent};
use super::scene::{LEASE, Scene, guarded, line, plan, spec};
use cts_store::{
    EnqueueRequest, Guarded, LeaderError, Lease, LeaseError, Requeued, Retention, StoreError,
    Unchanged,
};

const WALKS: u64 = 12;
const STEPS: u32 = 400;
const TASKS: [&str; 3] = ["a", "b", "c"];
const INPUTS: [&str; 3] = ["1", "2", "3"];

/// A task of the only concurrency group.
fn grouped(name: &str) -> TaskSpec {
    let mut task = spec(name);
    task.file_settings.concurrency_group = Some("group".to_owned());
    task
}

#[derive(Debug)]
struct Walk<F> {
    scene: Scene<F>,
    model: Model,
    dice: Dice,
    /// Every lease that was ever granted, the newest last.
    leases: Vec<Lease>,
    /// Epoch that each replica got from its last call for the leadership.
    known: [Option<LeaderEpoch>; 2],
    /// Number of the life that each replica is in.
    lives: [u8; 2],
    /// The epoch of the last grant of leadership, and the one before it.
    epochs: [LeaderEpoch; 2],
    requests: Vec<EnqueueRequest>,
    /// The store's time at the beginning.
    start: Option<DateTime<Utc>>,
    /// Steps so far, for the message of a failure.
    trace: Vec<String>,
}

pub async fn random_walks_agree_with_the_model<F: Fixture>() {
    for seed in 1..=WALKS {
        let mut walk = Walk {
            scene: Scene::<F>::unled().await,
            model: Model::new(),
            dice: Dice::new(seed),
            leases: Vec::new(),
            known: [None; 2],
            lives: [1; 2],
            epochs: [LeaderEpoch::new(0); 2],
            requests: Vec::new(),
            start: None,
            trace: vec![format!("seed {seed}")],
        };
        walk.lead().await;
        walk.configure(&TASKS.map(grouped)).await;
        for _ in 0..STEPS {
            walk.step().await;
            walk.compare().await;
        }
        walk.compare_all().await;
    }
}

impl<F: Fixture> Walk<F> {
    pub(super) fn story(&self) -> String {
        self.trace.join("\n")
    }

    async fn step(&mut self) {
        // Without a leader there would be little to see.
        if !self.model.leads(self.epochs[0]) && !self.dice.one_in(4) {
            return self.lead().await;
        }
        match self.dice.below(85) {
            0..10 => self.enqueue().await,
            10..20 => self.acquire().await,
            20..28 => self.complete().await,
            28..31 => self.renew().await,
            31..33 => self.log().await,
            33..37 => self.advance(),
            37 => self.release_all().await,
            38 => self.prune().await,
            39 => self.reconfigure().await,
            40..43 => self.lead().await,
            43 => self.resign().await,
            44..47 => self.heartbeat().await,
            47 => self.drain().await,
            48 => self.forget().await,
            50..54 => self.create().await,
            54..60 => self.change().await,
            60..62 => self.delete().await,
            62..70 => self.enqueue_requested().await,
            70 => self.refuse().await,
            71 => self.drop_draft().await,
            72..74 => self.release().await,
            74..77 => self.suspend().await,
            77 => self.look_at_wait().await,
            78 => self.resume().await,
            79 => self.plan_destruction().await,
            80..83 => self.cancel().await,
            _ => self.reap().await,
        }
    }

    /// Checks whether a leader's call was accepted as expected, and returns its answer.
    fn accepted<T>(
        &self,
        answer: Result<T, LeaderError>,
        epoch: LeaderEpoch,
        expected: bool,
    ) -> Option<T> {
        let answer = match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                let deposed =
                    matches!(error, LeaderError::Deposed { epoch: named } if named == epoch);
                assert!(deposed, "{error:?}: {}", self.story());
                None
            }
        };
        assert_eq!(answer.is_some(), expected, "{}", self.story());
        answer
    }

    async fn enqueue(&mut self) {
        let mut requests = Vec::new();
        for _ in 0..=self.dice.below(2) {
            let repeated = self.dice.one_in(6);
            let request = match self.dice.one_of(&self.requests).filter(|_| repeated) {
                Some(request) => request.clone(),
                None => self.some_request_to_enqueue(),
            };
            requests.push(request);
        }
        let epoch = self.some_epoch();
        self.trace.push(format!("enqueue {epoch} {requests:?}"));
        self.requests.clone_from(&requests);
        let leads = self.model.leads(epoch);
        let accepted = requests.iter().filter(|_| leads);
        let expected: Vec<_> = accepted
            .map(|request| self.model.enqueue(request))
            .collect();
        let answer = self.scene.store().enqueue(epoch, requests).await;
        let answer = self.accepted(answer, epoch, leads).unwrap_or_default();
        assert_eq!(answer, expected, "{}", self.story());
    }

    fn some_request_to_enqueue(&mut self) -> EnqueueRequest {
        let text = self.dice.one_of(&INPUTS).copied().unwrap_or("1");
        let name = self.dice.one_of(&TASKS).copied().unwrap_or("a");
        EnqueueRequest {
            kind: self.some_kind(),
            unchanged: match self.dice.below(6) {
                0 => Unchanged::Skip,
                1 => Unchanged::Run,
                _ => Unchanged::AsTaskSays,
            },
            guarded: self.perhaps_guarded(text),
            tick: self.dice.one_in(3).then(|| self.scene.event_id()),
            ..self.scene.request(name, text)
        }
    }

    /// Mostly with a guard, by which the third input is too little after the first two.
    fn perhaps_guarded(&mut self, text: &str) -> Option<Guarded> {
        let instances = match text {
            "1" => 9,
            "2" => 5,
            _ => 2,
        };
        let guarded = guarded("50%", &[("web", instances)]);
        (!self.dice.one_in(5)).then_some(guarded)
    }

    async fn acquire(&mut self) {
        let claim = self.some_claim();
        self.trace.push(format!("acquire {claim:?}"));
        let expected = self.model.acquire(&claim);
        let lease = self.scene.acquire_as(&claim).await;
        assert_eq!(lease, expected, "{}", self.story());
        let Some(lease) = lease else { return };
        let earlier = self
            .leases
            .iter()
            .filter(|earlier| earlier.run == lease.run);
        let highest = earlier.map(|earlier| earlier.epoch).max();
        assert!(highest < Some(lease.epoch), "{}", self.story());
        self.leases.push(lease);
    }

    /// Mostly one of the newest leases, which may be live; sometimes an old one, or one in the name of
    /// another worker.
    pub(super) fn some_lease(&mut self) -> Option<Lease> {
        let oldest = self
            .leases
            .len()
            .saturating_sub(if self.dice.one_in(4) { 12 } else { 3 });
        let mut lease = self.dice.one_of(&self.leases[oldest..]).cloned()?;
        if self.dice.one_in(10) {
            lease.holder = self.some_claim().worker;
        }
        Some(lease)
    }

    async fn complete(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        let done = match lease.kind {
            RunKind::Apply => AttemptOutcome::Applied,
            RunKind::Plan => AttemptOutcome::Planned(plan(format!("plan {}", self.trace.len()))),
            RunKind::Check => AttemptOutcome::Checked,
            RunKind::Destroy => AttemptOutcome::Destroyed,
            RunKind::DestroyPlan => AttemptOutcome::Planned(plan("what would be destroyed")),
        };
        let outcome = match self.dice.below(6) {
            // Outcomes of another kind of run, seldom.
            0 if self.dice.one_in(8) => AttemptOutcome::Applied,
            0 if self.dice.one_in(8) => AttemptOutcome::Planned(plan("not wanted")),
            0 if self.dice.one_in(8) => AttemptOutcome::Checked,
            0 if self.dice.one_in(8) => AttemptOutcome::Destroyed,
            0..2 => done,
            2..5 => AttemptOutcome::Failed(format!("error {}", self.trace.len())),
            _ => AttemptOutcome::Interrupted,
        };
        let did_it = outcome.error(lease.kind).is_none() && outcome != AttemptOutcome::Interrupted;
        let mut completion = self.scene.completion(&lease, outcome);
        completion.jitter = *self.dice.one_of(&[0.0, 0.25, 0.5]).unwrap_or(&0.0);
        completion.log = vec![line(format!("end {}", self.trace.len()))];
        self.trace.push(format!("complete {completion:?}"));
        let expected = self.model.complete(&completion);
        let answer = match self.scene.store().complete(completion).await {
            Ok(completed) => Some(ModelCompleted {
                status: completed.status,
                event: completed.event.as_ref().map(ModelEvent::from),
                next_due: completed.next_due,
                tasks_changed: completed.tasks_changed,
            }),
            Err(error) => {
                assert!(matches!(error, LeaseError::Lost { .. }), "{error:?}");
                None
            }
        };
        assert_eq!(answer, expected, "{}", self.story());
        let succeeded = answer.is_some_and(|answer| answer.status == RunStatus::Succeeded);
        assert!(!succeeded || did_it, "{}", self.story());
    }

    async fn renew(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        self.trace.push(format!("renew {lease:?}"));
        let expected = self.model.renew(&lease, LEASE);
        let answer = self
            .scene
            .store()
            .renew(lease.run, &lease.holder, lease.epoch, LEASE, None)
            .await;
        assert_eq!(answer.is_ok(), expected, "{}", self.story());
    }

    async fn log(&mut self) {
        let Some(lease) = self.some_lease() else {
            return;
        };
        let text = format!("line {}", self.trace.len());
        self.trace.push(format!("log {text} {lease:?}"));
        let live = self.model.live(lease.run, &lease.holder, lease.epoch);
        let expected = live.map(|run| run.log.push(text.clone())).is_some();
        let append = self
            .scene
            .store()
            .append_log(lease.run, &lease.holder, lease.epoch, vec![line(text)])
            .await;
        assert_eq!(append.is_ok(), expected, "{}", self.story());
    }

    fn advance(&mut self) {
        let by = [
            1,
            500_000,
            1_000_000,
            2_000_000,
            16_000_000,
            30_000_000,
            90_000_000,
            24 * 3_600_000_000,
        ];
        let by = Duration::from_micros(*self.dice.one_of(&by).unwrap_or(&1));
        self.trace.push(format!("advance {by:?}"));
        self.model.now += by;
        self.scene.advance(by);
    }

    async fn release_all(&mut self) {
        self.trace.push("release all".to_owned());
        let expected = self.model.release_all();
        let answer = self.scene.store().release_all().await;
        self.compare_requeued(answer, &expected);
    }

    async fn reap(&mut self) {
        let epoch = self.some_epoch();
        let most = if self.dice.one_in(4) { 1 } else { 8 };
        let mut each = self.scene.expired_leases(most);
        each[0].jitter = 0.5;
        self.trace.push(format!("reap {epoch} {each:?}"));
        let leads = self.model.leads(epoch);
        let answer = self.scene.store().reap(epoch, &each).await;
        if let Some(answer) = self.accepted(answer, epoch, leads) {
            let expected = self.model.reap(&each);
            self.compare_requeued(Ok(answer), &expected);
        }
    }

    fn compare_requeued(&self, answer: Result<Vec<Requeued>, StoreError>, expected: &[Requeued]) {
        let mut answer = answer.expect("leases can be taken back");
        answer.sort_by_key(|requeued| requeued.run);
        assert_eq!(answer, expected, "{}", self.story());
    }

    async fn prune(&mut self) {
        let keep = u32::try_from(self.dice.below(8)).unwrap_or_default();
        self.trace.push(format!("prune {keep}"));
        let expected = self.model.prune(keep as usize);
        self.scene.forget_facts().await;
        let pruned = self.scene.store().prune(Retention::of_any_age(keep)).await;
        assert_eq!(
            pruned.expect("old runs can be forgotten"),
            expected,
            "{}",
            self.story()
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
            spec.file_settings.skip_unchanged = !self.dice.one_in(3);
            spec.file_settings.retry_failed = !self.dice.one_in(3);
            spec.on_delete = self.some_end();
            spec.file_settings.concurrency_group =
                (!self.dice.one_in(4)).then(|| "group".to_owned());
            if self.dice.one_in(3) {
                spec.requirement = Requirement {
                    driver: "tofu".to_owned(),
                    version: self.dice.one_in(2).then(|| "1.8.0".to_owned()),
                    bundle: self.dice.one_in(2),
                    ..Requirement::default()
                };
            }
        }
        if self.dice.one_in(4) {
            specs.remove(1);
        }
        self.configure(&specs).await;
    }

    async fn configure(&mut self, specs: &[TaskSpec]) {
        let epoch = self.some_epoch();
        self.trace.push(format!("configure {epoch} {specs:?}"));
        let leads = self.model.leads(epoch);
        let expected = leads.then(|| self.model.configure(specs));
        let answer = self.scene.store().replace_config_tasks(epoch, specs).await;
        let answer = self.accepted(answer, epoch, leads);
        assert_eq!(answer, expected, "{}", self.story());
    }
}
