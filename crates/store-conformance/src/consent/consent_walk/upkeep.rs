//! Steps of leaders and of time, and what holds after every step.

use std::time::Duration;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{ApprovalRule, TaskPhase};

use super::decisions::{Decisions, Duty};
use super::{Walk, text_of};
use crate::Fixture;
use crate::asking::{asked, consents, permit, ruled};
use crate::scene::{Scene, task};
use crate::walk::dice::Dice;

impl<F: Fixture> Walk<F> {
    /// A task `a`, and a task `b` that waits for good.
    pub(super) async fn new(seed: u64) -> Self {
        let scene = Scene::<F>::configured(&[ruled("b")]).await;
        let lease = scene.leased("b", "less").await;
        permit(&scene, &lease, &asked("destroys")).await;
        scene.interrupted(&lease).await;
        let mut walk = Self {
            scene,
            dice: Dice::new(seed),
            decisions: Decisions::default(),
            spec: ruled("a"),
            rules: [
                ApprovalRule::Destroy,
                ApprovalRule::Never,
                ApprovalRule::Never,
            ],
            of_file: true,
            phase: None,
            enabled: true,
            held: None,
            queued: None,
            waiting: None,
            newest: None,
            applied: None,
            withheld: Vec::new(),
            story: vec![format!("seed {seed}")],
        };
        walk.configure().await;
        walk.check().await;
        walk
    }

    /// The rule in force.
    pub(super) fn rule(&self) -> ApprovalRule {
        let [own, deleted, default] = self.rules;
        if self.of_file {
            own
        } else {
            default.max(deleted)
        }
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.story.push(format!("advance {by:?}"));
        self.scene.advance(by);
        self.decisions.advance(by);
    }

    pub(super) async fn configure(&mut self) {
        self.story.push(format!("configure {:?}", self.rules));
        self.scene.configure(&[self.spec.clone(), ruled("b")]).await;
    }

    /// Consents of the task and its applies are withdrawn.
    pub(super) fn withdraw(&mut self) {
        self.decisions.withdraw();
        self.waiting = None;
        self.newest = None;
        if let Some(held) = &mut self.held {
            held.withdrawn = true;
        }
    }

    /// The leader withdraws what is gone.
    pub(super) async fn sweep(&mut self) {
        if self.held.is_none() && self.queued.is_none() {
            self.decisions.are_idle();
        }
        let withdrawn = self.scene.store().withdraw_gone(self.scene.leader()).await;
        let withdrawn = withdrawn.expect("the scene leads");
        self.story.push(format!("sweep: {}", withdrawn.len()));
        for approval in withdrawn {
            let duties = [
                self.decisions.rejects(&approval.effect),
                self.decisions.waits(&approval.effect, true),
            ];
            assert!(
                !duties.contains(&Duty::Must),
                "{duties:?}: {}",
                self.story()
            );
            self.decisions.remove(&approval.effect);
            self.waiting = self.waiting.filter(|it| it.1 != approval.effect);
        }
    }

    /// The program ends, and the next program takes back all leases.
    pub(super) async fn release_all(&mut self) {
        let released = self.scene.release_all().await;
        self.story.push(format!("release all: {released:?}"));
        if let Some(held) = self.held.take() {
            let run = released.iter().find(|it| it.run == held.lease.run);
            let status = run.map_or(RunStatus::Cancelled, |run| run.status);
            self.ended(held, &[], status).await;
        }
    }

    /// The database restarts, and another leader takes over.
    pub(super) async fn start_again(&mut self) {
        self.story.push("start again".to_owned());
        self.scene.restart().await;
        self.scene.lead().await;
    }

    /// Checks the invariants that hold after every step.
    pub(super) async fn check(&mut self) {
        let stored = self.scene.stored("a").await;
        let stored = stored.filter(|stored| stored.phase != TaskPhase::Discarded);
        self.queued = self.queued_run().await;
        // A task is shown as soon as it is created.
        let is_created = self.held.is_some() || self.queued.is_some();
        let phase = stored.as_ref().map(|stored| stored.phase);
        self.phase = phase.or(is_created.then_some(TaskPhase::Creating));
        self.enabled = stored.is_none_or(|stored| stored.spec.enabled);
        let mut listed = consents(&self.scene).await;
        let b = listed.pop().filter(|it| it.task == task("b"));
        let b_waits = b.is_some_and(|it| it.decided.is_none() && it.gone_at.is_none());
        assert!(b_waits, "the other task: {}", self.story());
        if self.phase != Some(TaskPhase::Ready) {
            return;
        }
        for approval in &listed {
            let known = self.decisions.effects().any(|it| it == approval.effect);
            assert!(known, "{approval:?}: {}", self.story());
        }
        for effect in self.decisions.effects() {
            let must = self.decisions.waits(effect, true) == Duty::Must;
            let is_listed = listed.iter().any(|it| it.effect == effect);
            assert!(
                is_listed || !must,
                "{effect} is forgotten: {}",
                self.story()
            );
        }
        let queued = self.queued.as_ref();
        if let Some((run, effect)) = self.waiting {
            let waits =
                queued.is_some_and(|it| it.id == run && it.awaits.as_deref() == Some(effect));
            assert!(waits, "{effect} does not wait: {queued:?} {}", self.story());
        }
        let newest = self
            .newest
            .filter(|it| self.enabled && Some(*it) != self.applied);
        let newest = newest.filter(|it| !self.withheld.contains(it));
        let running = self.held.as_ref().map(|held| held.input.text);
        let next = queued.and_then(text_of).or(running);
        assert!(
            newest.is_none() || next == newest,
            "{newest:?} is lost for {next:?}: {}",
            self.story()
        );
        assert!(queued.is_none_or(|it| it.kind == RunKind::Apply));
    }
}
