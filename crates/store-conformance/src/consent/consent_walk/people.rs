//! Steps of people.

use cts_core::runs::RunKind;
use cts_core::{ApprovalRule, Creation, TaskPhase};

use cts_store::TaskError;

use super::decisions::{Duty, INPUTS};
use super::{Walk, text_of};
use crate::Fixture;
use crate::asking::{decision, defaults};
use crate::scene::task;

impl<F: Fixture> Walk<F> {
    /// Somebody approves or rejects an effect.
    pub(super) async fn decide(&mut self, rejects: bool) {
        let some = self.some_input().effect;
        let waiting = self.waiting.filter(|_| !self.dice.one_in(3));
        let effect = waiting.map_or(some, |waiting| waiting.1);
        let event = rejects.then(|| self.scene.event_id());
        let decision = decision(&[("a", effect)], event);
        let decided = self.scene.store().decide_approvals(&decision).await;
        let duty = self.decisions.waits(effect, rejects);
        self.story
            .push(format!("decide {effect} {rejects}: {}", decided.is_ok()));
        let may = match decided {
            Ok(_) => duty != Duty::MustNot,
            Err(_) => duty != Duty::Must,
        };
        assert!(may, "{duty:?}: {}", self.story());
        if decided.is_err() {
            return;
        }
        let gone = self.decisions.is_gone(effect);
        self.decisions.decide(effect, rejects);
        let Some((run, _effect)) = self.waiting.filter(|it| it.1 == effect) else {
            return;
        };
        if rejects {
            let rejected = self.queued.as_ref().and_then(text_of);
            self.withheld.extend(rejected);
            self.waiting = None;
        } else if !gone {
            self.waiting = None;
            let lease = self.scene.acquire().await;
            let lease = lease.filter(|lease| lease.run == run);
            assert!(lease.is_some(), "it is not due: {}", self.story());
            self.take(lease.expect("it is due")).await;
        }
    }

    pub(super) async fn reopen(&mut self) {
        let run = self.scene.run_id();
        let reopened = self.scene.store().reopen_approvals(&task("a"), run).await;
        let reopened = reopened.expect("it can be reopened");
        self.story.push(format!("reopen: {reopened}"));
        let (least, most) = self.decisions.reopen();
        let number = usize::try_from(reopened).expect("they are few");
        assert!((least..=most).contains(&number), "{}", self.story());
    }

    /// Somebody requests a run.
    pub(super) async fn request(&mut self) {
        if self.phase != Some(TaskPhase::Ready) {
            return;
        }
        let input = self.some_input();
        let run = self.scene.ask("a", RunKind::Apply).await;
        let request = self.scene.request_of(run, input.text).await;
        let answer = self.scene.request_all(vec![request]).await.remove(0);
        self.story.push("request".to_owned());
        self.note(input, answer.decision, answer.queued);
    }

    /// Somebody cancels the run.
    pub(super) async fn cancel(&mut self) {
        if let Some(held) = &mut self.held {
            self.scene.cancel(held.lease.run, true).await;
            held.cancelled = true;
        } else if let Some(queued) = self.queued.take() {
            self.scene.cancel(queued.id, false).await;
            self.decisions.withdraw();
            self.withheld.extend(text_of(&queued));
            self.waiting = None;
        }
        self.story.push("cancel".to_owned());
    }

    pub(super) async fn enable(&mut self) {
        if self.phase != Some(TaskPhase::Ready) {
            return;
        }
        let enables = !self.enabled;
        self.scene.enable("a", enables).await;
        self.story.push(format!("enable {enables}"));
        if !enables {
            self.withdraw();
        }
        // The leader freezes the input of an enabled task again.
        self.newest = None;
    }

    /// Another declaration of the file.
    pub(super) async fn declare_another(&mut self) {
        if !self.of_file || self.phase != Some(TaskPhase::Ready) {
            return;
        }
        self.spec.definition.description.push('.');
        self.configure().await;
        self.withdraw();
    }

    /// The file gets another rule, for the task or as a default.
    pub(super) async fn change_rule(&mut self) {
        if self.phase != Some(TaskPhase::Ready) {
            return;
        }
        let [never, destroy, always] = ApprovalRule::ALL;
        let rules = [never, destroy, destroy, destroy, always, always];
        let rule = *self.dice.one_of(&rules).expect("there are some");
        let own = self.of_file && self.dice.one_in(2);
        self.story.push(format!("rule {rule:?} {own}"));
        if own {
            self.rules[0] = rule;
            self.spec.file_settings.approval = Some(rule);
        } else {
            self.rules[2] = rule;
            defaults(&self.scene, rule).await;
        }
        self.configure().await;
        let rule = self.rule();
        let asks = |effect: &str| {
            INPUTS
                .iter()
                .any(|it| it.effect == effect && it.needs(rule))
        };
        self.waiting = self.waiting.filter(|waiting| asks(waiting.1));
    }

    pub(super) async fn delete(&mut self) {
        if self.phase != Some(TaskPhase::Ready) || !self.dice.one_in(3) {
            return;
        }
        let gone = self.scene.delete("a").await;
        self.story.push(format!("delete: {gone}"));
        if self.of_file {
            self.rules[1] = self.rules[0];
        }
        self.withdraw();
        self.decisions.clear();
    }

    /// The name of the deleted task is that of another task.
    pub(super) async fn create(&mut self) {
        self.of_file = self.dice.one_in(2);
        self.decisions.clear();
        (self.applied, self.newest) = (None, None);
        self.withheld.clear();
        if self.of_file {
            self.story.push("create in the file".to_owned());
            self.rules[1] = ApprovalRule::Never;
            self.spec.definition.description.push('.');
            return self.configure().await;
        }
        let new = self.scene.new_task("a", Creation::Keep, RunKind::Apply);
        if let Err(TaskError::BeingCreated { run }) = self.scene.store().create_task(&new).await {
            // A creation that was discarded.
            return self.scene.drop_draft("a", run).await;
        }
        self.story.push("create".to_owned());
        let input = self.some_input();
        let request = self.scene.request_of(new.run, input.text).await;
        let answer = self.scene.request_all(vec![request]).await.remove(0);
        self.note(input, answer.decision, answer.queued);
    }
}
