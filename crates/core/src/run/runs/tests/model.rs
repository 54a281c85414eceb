//! A model of the stored runs of one task, driven only by the decisions.

use proptest::prelude::*;

use super::super::*;
use super::{context, input, outcomes, plan};

/// A waiting or running run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    kind: RunKind,
    input: Digest,
    no_retry: bool,
    attempts: u32,
}

impl Waiting {
    fn new(kind: RunKind, input: Digest) -> Self {
        Self {
            kind,
            input,
            no_retry: false,
            attempts: 0,
        }
    }
}

#[derive(Debug, Default)]
struct Model {
    retry_failed: bool,
    queued: Option<Waiting>,
    plans: Vec<Waiting>,
    running: Option<Waiting>,
    last_applied: Option<Digest>,
    tried: Option<Digest>,
    ended_plans: u32,
    /// Input that Terraform has really applied.
    really_applied: Option<Digest>,
}

impl Model {
    fn runs(&self) -> TaskRuns {
        let applying = self.running.filter(|run| run.kind == RunKind::Apply);
        TaskRuns {
            queued: self.queued.map(|run| QueuedApply {
                input: run.input,
                no_retry: run.no_retry,
                braked: false,
            }),
            running: applying.map(|run| run.input),
            withdrawn: false,
            last_applied: self.last_applied,
            withheld: None,
            rejected: false,
            owes: false,
        }
    }

    fn change(&mut self, to: Digest, requested: bool) {
        let wanted = WantedApply {
            input: to,
            skip_unchanged: !requested,
            requested,
            accompanies: false,
            loses_much: false,
        };
        let runs = self.runs();
        let decision = decide_enqueue(runs, wanted);
        if forgets_attempts(self.tried, runs, wanted, decision) {
            self.tried = None;
        }
        match decision {
            EnqueueDecision::Enqueue | EnqueueDecision::Supersede | EnqueueDecision::Replace => {
                self.queued = Some(Waiting {
                    no_retry: requested,
                    ..Waiting::new(RunKind::Apply, to)
                });
            }
            EnqueueDecision::Skip {
                cancel_queued: true,
            } => self.queued = None,
            EnqueueDecision::Keep
            | EnqueueDecision::Block
            | EnqueueDecision::Withhold
            | EnqueueDecision::Skip {
                cancel_queued: false,
            } => {}
        }
    }

    fn ask_for_plan(&mut self, of: Digest) {
        self.plans.push(Waiting {
            no_retry: true,
            ..Waiting::new(RunKind::Plan, of)
        });
    }

    /// Leases the plan that waits longest, or the queued apply.
    fn lease(&mut self, plans_first: bool) {
        if self.running.is_some() {
            return;
        }
        if !self.plans.is_empty() && (plans_first || self.queued.is_none()) {
            self.running = Some(self.plans.remove(0));
        } else if let Some(queued) = self.queued.take() {
            self.running = Some(queued);
            self.last_applied = None;
            self.really_applied = None;
        }
        if let Some(running) = &mut self.running {
            running.attempts += 1;
        }
    }

    fn context(&self, running: &Waiting) -> AttemptContext {
        AttemptContext {
            kind: running.kind,
            no_retry: running.no_retry,
            tried: self.tried == Some(running.input),
            retry_failed: self.retry_failed,
            ..context(running.attempts, self.queued.is_some())
        }
    }

    fn finish(&mut self, outcome: &AttemptOutcome) {
        if let Some(running) = self.running.take() {
            let around = self.context(&running);
            self.follow(running, around, after_attempt(outcome, around));
        }
    }

    fn lose(&mut self, renewable: bool) {
        if let Some(running) = self.running.take() {
            let around = self.context(&running);
            self.follow(running, around, after_lost_lease(renewable, around));
        }
    }

    fn follow(&mut self, mut running: Waiting, around: AttemptContext, after: AfterAttempt) {
        if after == AfterAttempt::Requeue {
            running.attempts -= 1;
        }
        match after {
            AfterAttempt::Succeed => {
                self.last_applied = Some(running.input);
                self.tried = Some(running.input);
                self.really_applied = Some(running.input);
            }
            AfterAttempt::Retry(_) | AfterAttempt::Requeue if !running.kind.applies() => {
                self.plans.insert(0, running);
            }
            AfterAttempt::Retry(_) | AfterAttempt::Requeue => self.queued = Some(running),
            AfterAttempt::GiveUp { retry_after } => {
                if around.ends_ordinary_attempts() {
                    self.tried = Some(running.input);
                }
                let waits = self.queued.is_some();
                if retry_after.is_some() {
                    assert!(!waits, "what is newer goes first");
                    self.queued = Some(Waiting::new(RunKind::Apply, running.input));
                } else if !waits {
                    assert!(
                        self.tried == Some(running.input) && !self.retry_failed,
                        "only what was tried may be given up for good"
                    );
                }
            }
            AfterAttempt::Cancel => {}
            AfterAttempt::Suspend => unreachable!("nothing is cancelled here"),
            AfterAttempt::End { .. } => self.ended_plans += 1,
        }
    }

    /// Ends all waiting callers and interrupts the running run.
    fn restart(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.attempts -= 1;
            match running.kind {
                RunKind::Apply => self.queued = self.queued.or(Some(running)),
                _ => self.plans.push(running),
            }
        }
        self.ended_plans += u32::try_from(self.plans.len()).unwrap();
        self.plans.clear();
        if let Some(queued) = &mut self.queued {
            assert!(continues_as_change(queued.kind, queued.no_retry, true));
            queued.no_retry = false;
        }
    }

    /// Completes the running run successfully, if a run is running.
    fn succeed(&mut self) {
        match self.running.map(|run| run.kind) {
            Some(RunKind::Plan) => self.finish(&plan()),
            _ => self.finish(&AttemptOutcome::Applied),
        }
    }
}

proptest! {
    /// A small version of P3.
    ///
    /// After any changes, requests, failures, plans, interruptions and losses, once runs succeed again, the last
    /// input is the applied input, and every plan has ended. Exception: an input that has used all its attempts, of a
    /// task without slow retries.
    #[test]
    fn the_last_input_is_applied_in_the_end(
        steps in prop::collection::vec((0u8..9, 0u8..4), 1..80), retry_failed in any::<bool>(),
    ) {
        let mut model = Model { retry_failed, ..Model::default() };
        let mut wanted = None;
        let mut plans = 0;
        for (kind, n) in steps {
            match kind {
                0 => {
                    model.change(input(n), false);
                    wanted = Some(input(n));
                }
                1 => model.lease(n % 2 == 0),
                2 => model.succeed(),
                3 => {
                    model.ask_for_plan(input(n));
                    plans += 1;
                }
                4 if n == 0 => model.finish(&AttemptOutcome::Interrupted),
                4 => model.lose(n == 1),
                5 => model.finish(&AttemptOutcome::Failed("no".into())),
                6 if n == 0 => model.restart(),
                6 => {
                    model.lease(false);
                    model.finish(&AttemptOutcome::Failed("no".into()));
                }
                _ => {
                    // The present state is read.
                    if let Some(wanted) = wanted {
                        model.change(wanted, true);
                    }
                }
            }
            prop_assert_eq!(model.last_applied.is_some(), model.really_applied.is_some());
        }
        while model.running.is_some() || model.queued.is_some() || !model.plans.is_empty() {
            model.succeed();
            model.lease(false);
        }
        prop_assert_eq!(model.ended_plans, plans);
        let was_tried = model.really_applied.is_none() && model.tried == wanted;
        if !was_tried || retry_failed {
            prop_assert_eq!(model.really_applied, wanted);
        }
    }

    /// Plans do not affect anything else: without them the same steps lead to the same state.
    #[test]
    fn plans_change_nothing_for_the_others(steps in prop::collection::vec((0u8..4, 0u8..5), 1..60)) {
        let (mut with, mut without) = (Model::default(), Model::default());
        for (kind, n) in steps {
            match kind {
                0 => for model in [&mut with, &mut without] {
                    model.change(input(n), n >= 3);
                },
                1 => for model in [&mut with, &mut without] {
                    model.lease(false);
                },
                2 => for model in [&mut with, &mut without] {
                    model.finish(&outcomes()[usize::from(n)]);
                },
                _ => {
                    // A plan comes and goes while nothing runs.
                    if with.running.is_none() {
                        with.ask_for_plan(input(n));
                        with.lease(true);
                        if n == 0 {
                            with.finish(&AttemptOutcome::Interrupted);
                            with.lease(true);
                        }
                        with.finish(&if n == 1 { plan() } else { AttemptOutcome::Failed("no".into()) });
                    }
                }
            }
            prop_assert_eq!(with.runs(), without.runs());
            prop_assert_eq!(with.really_applied, without.really_applied);
        }
    }
}
