//! Random orders of what workers, leaders, data and people do about one task whose effects need consent.

mod decisions;
mod people;
mod upkeep;

use cts_core::runs::EnqueueDecision::{Enqueue, Keep, Replace, Skip, Supersede, Withhold};
use cts_core::runs::{AttemptOutcome, EnqueueDecision, RunKind, RunStatus};
use cts_core::{ApprovalRule, Permit, RunId, TaskPhase, TaskSpec};
use cts_store::{Lease, RunFilter, RunRecord};

use self::decisions::{Decisions, Duty, INPUTS, Input};
use crate::Fixture;
use crate::asking::{asked, harmless, permit};
use crate::scene::{LEASE, Scene, input, seconds, task};
use crate::walk::dice::Dice;

const WALKS: u64 = 4;
const STEPS: u32 = 400;

/// A leased run.
#[derive(Debug)]
struct Held {
    lease: Lease,
    input: Input,
    requested: bool,
    answer: Option<Permit>,
    cancelled: bool,
    /// The task was changed, disabled or deleted since.
    withdrawn: bool,
}

#[derive(Debug)]
struct Walk<F> {
    scene: Scene<F>,
    dice: Dice,
    decisions: Decisions,
    spec: TaskSpec,
    /// Own rule of the task, that of the file's task before it, and the default.
    rules: [ApprovalRule; 3],
    /// The task is one of the file.
    of_file: bool,
    phase: Option<TaskPhase>,
    enabled: bool,
    held: Option<Held>,
    queued: Option<RunRecord>,
    /// The run that waits, and for which effect.
    waiting: Option<(RunId, &'static str)>,
    /// The input that the data show.
    newest: Option<&'static str>,
    applied: Option<&'static str>,
    withheld: Vec<&'static str>,
    /// Steps so far, for the message of a failure.
    story: Vec<String>,
}

pub async fn what_people_have_decided_holds_in_every_order<F: Fixture>() {
    for seed in 1..=WALKS {
        let mut walk = Walk::<F>::new(seed).await;
        for _ in 0..STEPS {
            walk.step().await;
            walk.check().await;
        }
    }
}

impl<F: Fixture> Walk<F> {
    async fn step(&mut self) {
        if self.phase.is_none() {
            return self.create().await;
        }
        if !self.enabled && self.dice.one_in(4) {
            return self.enable().await;
        }
        match self.dice.below(60) {
            0..36 if self.held.is_some() => self.work().await,
            0..20 => self.acquire().await,
            20..30 => self.enqueue().await,
            30..38 => self.decide(false).await,
            38..40 => self.decide(true).await,
            40 => self.reopen().await,
            41..43 => self.request().await,
            43..48 => self.wait(),
            48..51 => self.sweep().await,
            51 => self.cancel().await,
            52 => self.lose().await,
            53 => self.enable().await,
            54 => self.declare_another().await,
            55 => self.change_rule().await,
            56 => self.delete().await,
            57 => self.release_all().await,
            58 => self.start_again().await,
            _ => drop(self.scene.retry_failed_now().await),
        }
    }

    fn story(&self) -> String {
        self.story.join("\n")
    }

    fn some_input(&mut self) -> Input {
        *self.dice.one_of(&INPUTS).expect("there are some")
    }

    async fn enqueue(&mut self) {
        let chosen = self.some_input();
        // Data that flap.
        let again = [self.newest, self.applied];
        let again = self.dice.one_of(&again).copied().flatten();
        let again = INPUTS.iter().find(|it| Some(it.text) == again);
        let chosen = *again.filter(|_| !self.dice.one_in(3)).unwrap_or(&chosen);
        let enqueued = self.scene.enqueue("a", chosen.text).await;
        self.note(chosen, enqueued.decision, enqueued.queued);
    }

    /// The data show this input now, or a caller wants it.
    fn note(&mut self, chosen: Input, decision: Option<EnqueueDecision>, queued: Option<RunId>) {
        let text = chosen.text;
        self.story.push(format!("enqueue {text}: {decision:?}"));
        let Some(decision) = decision else {
            return;
        };
        match decision {
            Enqueue | Replace | Supersede => {
                self.waiting = None;
                self.withheld.clear();
            }
            Skip { .. } => self.withheld.retain(|it| *it == text),
            Withhold => assert!(self.withheld.contains(&text), "{}", self.story()),
            _ => {}
        }
        if let (Replace, Some(run)) = (decision, queued) {
            self.decisions.replace(run, text);
        }
        self.newest = Some(text);
        let has_run = self.queued.as_ref().and_then(text_of) == Some(text) || self.held.is_some();
        if matches!(decision, Skip { .. }) && !has_run {
            self.decisions.others_are_gone(None, None);
            return;
        }
        self.decisions.is_back(text);
        let approved = |it: &(RunId, &str)| self.decisions.permits(it.0, chosen) != Duty::MustNot;
        self.waiting = self.waiting.filter(|it| decision != Keep || !approved(it));
    }

    async fn acquire(&mut self) {
        let lease = self.scene.acquire().await;
        self.story
            .push(format!("acquire: {:?}", lease.as_ref().map(|it| it.run)));
        let Some(lease) = lease else {
            return;
        };
        let waits = self.waiting.is_some_and(|waiting| waiting.0 == lease.run);
        assert!(!waits, "a run that waits is leased: {}", self.story());
        self.take(lease).await;
    }

    async fn take(&mut self, lease: Lease) {
        let is_of = |it: &&Input| input(it.text).hash == lease.input;
        let found = INPUTS.iter().find(is_of);
        let requested = self.scene.run(lease.run).await.no_retry;
        self.waiting = None;
        self.held = Some(Held {
            input: *found.expect("no other task is leased"),
            lease,
            requested,
            answer: None,
            cancelled: false,
            withdrawn: false,
        });
    }

    /// The worker takes its next step.
    async fn work(&mut self) {
        let answer = self.held.as_ref().and_then(|held| held.answer);
        let lot = self.dice.below(12);
        let outcome = match answer {
            None if lot > 2 => return self.ask().await,
            Some(Permit::Permitted { .. }) if lot == 0 => return self.ask().await,
            Some(Permit::Permitted { .. }) if lot > 5 => AttemptOutcome::Applied,
            None | Some(Permit::Permitted { .. }) if lot > 1 => {
                AttemptOutcome::Failed("no".to_owned())
            }
            Some(Permit::Rejected) => AttemptOutcome::Declined("rejected".to_owned()),
            _ => AttemptOutcome::Interrupted,
        };
        let Some(held) = self.held.take() else {
            return;
        };
        let completion = self.scene.completion(&held.lease, outcome.clone());
        let retry = completion.retry_run;
        let completed = self.scene.complete(completion).await;
        self.story
            .push(format!("complete {outcome:?}: {:?}", completed.status));
        if completed.status == RunStatus::Succeeded {
            self.applied = Some(held.input.text);
        }
        // A rejection that was forgotten meanwhile withholds nothing.
        let is_declined = matches!(outcome, AttemptOutcome::Declined(_));
        if is_declined && completed.status.is_end() {
            self.withheld.push(held.input.text);
        }
        self.ended(held, &[retry], completed.status).await;
    }

    /// The lease has ended.
    async fn ended(&mut self, held: Held, retries: &[RunId], status: RunStatus) {
        if held.cancelled && status == RunStatus::Succeeded {
            self.decisions.doubt();
        } else if held.cancelled {
            self.decisions.withdraw();
            self.withheld.push(held.input.text);
        }
        if status == RunStatus::Failed && held.requested {
            self.newest = self.newest.filter(|it| *it != held.input.text);
        }
        let queued = self.queued_run().await;
        if let Some(retry) = queued.filter(|queued| retries.contains(&queued.id)) {
            self.decisions.pass_on(held.lease.run, retry.id);
        }
        let waits = held.answer == Some(Permit::Waits) && status == RunStatus::Queued;
        let is_open = self.decisions.waits(held.input.effect, false) == Duty::Must;
        if waits && is_open && held.input.needs(self.rule()) {
            self.waiting = Some((held.lease.run, held.input.effect));
        }
    }

    /// The worker asks whether it may apply its plan.
    async fn ask(&mut self) {
        let (rule, queued) = (self.rule(), self.queued_run().await);
        let Some(held) = &mut self.held else {
            return;
        };
        let (run, input) = (held.lease.run, held.input);
        let plan = if input.needs(ApprovalRule::Destroy) {
            asked(input.effect)
        } else {
            harmless(input.effect)
        };
        let answer = permit(&self.scene, &held.lease, &plan).await;
        held.answer = Some(answer.permit);
        let unwanted = held.cancelled || held.withdrawn || !(self.enabled || held.requested);
        let needs = input.needs(rule);
        self.story.push(format!("ask {}: {answer:?}", input.effect));
        let by_consent = self.decisions.permits(run, input);
        let rejected = self.decisions.rejects(input.effect);
        let known = self.decisions.waits(input.effect, false);
        let may = match answer.permit {
            _ if unwanted => answer.permit == Permit::Unwanted,
            Permit::Permitted { .. } => !needs || by_consent != Duty::MustNot,
            Permit::Waits => needs && by_consent != Duty::Must && rejected != Duty::Must,
            Permit::Rejected => needs && rejected != Duty::MustNot,
            Permit::Unwanted => needs && queued.is_some(),
            Permit::Unknown => false,
        };
        assert!(
            may,
            "{rule:?} {by_consent:?} {rejected:?}: {}",
            self.story()
        );
        let newer = queued.as_ref().and_then(text_of);
        let asks = match answer.permit {
            Permit::Unwanted => !unwanted && answer.decided.is_none(),
            other => other == Permit::Waits,
        };
        if asks {
            let is_new = known == Duty::MustNot;
            assert!(
                known == Duty::May || answer.is_new == is_new,
                "{}",
                self.story()
            );
            self.decisions.ask(input);
        }
        match answer.permit {
            Permit::Permitted { .. } => {
                self.applied = None;
                self.decisions.apply(run, input);
            }
            Permit::Rejected => self.decisions.plan(input),
            Permit::Unwanted if !asks => return,
            _ => {}
        }
        self.decisions.others_are_gone(Some(input.effect), newer);
    }

    async fn queued_run(&self) -> Option<RunRecord> {
        let filter = RunFilter {
            task: Some(task("a")),
            status: Some(RunStatus::Queued),
            limit: 10,
            ..RunFilter::default()
        };
        let queued = self.scene.listed(&filter).await.into_iter();
        let mut queued = queued.filter(|run| run.kind == RunKind::Apply);
        queued.next()
    }

    /// A worker dies, and its lease is taken back.
    async fn lose(&mut self) {
        self.advance(LEASE);
        let each = self.scene.expired_leases(4);
        let retries: Vec<RunId> = each.iter().map(|it| it.retry_run).collect();
        let reaped = self.scene.store().reap(self.scene.leader(), &each).await;
        let reaped = reaped.expect("leases can be taken back");
        self.story.push(format!("lose: {reaped:?}"));
        if let Some(held) = self.held.take() {
            let run = reaped.iter().find(|it| it.run == held.lease.run);
            let run = run.expect("its lease has expired");
            self.ended(held, &retries, run.status).await;
        }
    }

    fn wait(&mut self) {
        let for_seconds = [5, 5, 60, 60, 60, 60, 180, 86_400];
        let by = *self.dice.one_of(&for_seconds).expect("there are some");
        self.advance(seconds(by));
    }
}

/// The input of a run.
fn text_of(run: &RunRecord) -> Option<&'static str> {
    let found = INPUTS.iter().find(|it| input(it.text).hash == run.input);
    found.map(|it| it.text)
}
