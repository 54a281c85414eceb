use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn input(n: u8) -> Digest {
    Digest::of(&[n])
}

fn runs(queued: Option<u8>, running: Option<u8>, settled: Option<u8>) -> TaskRuns {
    TaskRuns {
        queued: queued.map(|n| QueuedApply {
            input: input(n),
            single: false,
        }),
        running: running.map(input),
        settled: settled.map(input),
    }
}

fn wanted(n: u8) -> WantedApply {
    WantedApply {
        input: input(n),
        single: false,
        skip_unchanged: true,
        requested: false,
    }
}

#[test]
fn inputs_are_decided_by_what_is_applied_or_being_applied() {
    use EnqueueDecision::{Enqueue, Keep, Replace, Skip};
    let cases = [
        ("nothing known", runs(None, None, None), Enqueue),
        (
            "already applied",
            runs(None, None, Some(1)),
            Skip {
                cancel_queued: false,
            },
        ),
        ("another applied", runs(None, None, Some(2)), Enqueue),
        (
            "being applied",
            runs(None, Some(1), None),
            Skip {
                cancel_queued: false,
            },
        ),
        ("another being applied", runs(None, Some(2), None), Enqueue),
        (
            "back to what is applied",
            runs(Some(2), None, Some(1)),
            Skip {
                cancel_queued: true,
            },
        ),
        (
            "back to what is being applied",
            runs(Some(2), Some(1), None),
            Skip {
                cancel_queued: true,
            },
        ),
        ("queued already", runs(Some(1), Some(2), None), Keep),
        ("an older one queued", runs(Some(3), Some(2), None), Replace),
        (
            "queued again after a failure",
            runs(Some(1), None, None),
            Keep,
        ),
    ];
    for (name, state, expected) in cases {
        assert_eq!(decide_enqueue(state, wanted(1)), expected, "{name}");
    }
}

#[test]
fn without_skipping_every_trigger_runs() {
    let always = WantedApply {
        skip_unchanged: false,
        ..wanted(1)
    };
    let applied = runs(None, None, Some(1));
    assert_eq!(decide_enqueue(applied, always), EnqueueDecision::Enqueue);
    let running = runs(Some(1), Some(1), None);
    assert_eq!(decide_enqueue(running, always), EnqueueDecision::Keep);
}

#[test]
fn what_is_asked_for_later_holds_for_the_queued_run() {
    use EnqueueDecision::{Enqueue, Keep, Replace, Supersede};
    let queued = |single| TaskRuns {
        queued: Some(QueuedApply {
            input: input(1),
            single,
        }),
        ..TaskRuns::default()
    };
    let cases = [
        (
            "a single run alone",
            TaskRuns::default(),
            (1, true),
            Enqueue,
        ),
        ("single behind usual", queued(false), (2, true), Supersede),
        ("the same, single", queued(false), (1, true), Supersede),
        ("single behind single", queued(true), (2, true), Replace),
        ("the same single", queued(true), (1, true), Keep),
        ("usual behind single", queued(true), (2, false), Replace),
        ("the same, usual", queued(true), (1, false), Replace),
    ];
    for (name, state, (number, single), expected) in cases {
        let wanted = WantedApply {
            single,
            ..wanted(number)
        };
        assert_eq!(decide_enqueue(state, wanted), expected, "{name}");
    }
}

#[test]
fn a_single_run_of_what_is_applied_is_not_pointless() {
    let single = |number| TaskRuns {
        queued: Some(QueuedApply {
            input: input(number),
            single: true,
        }),
        settled: Some(input(1)),
        running: None,
    };
    let skip = |cancel_queued| EnqueueDecision::Skip { cancel_queued };
    assert_eq!(decide_enqueue(single(1), wanted(1)), skip(false));
    assert_eq!(decide_enqueue(single(2), wanted(1)), skip(true));
}

fn context(attempts: u32, newer_waits: bool) -> AttemptContext {
    AttemptContext {
        kind: RunKind::Apply,
        phase: TaskPhase::Ready,
        single: false,
        attempts,
        newer_waits,
        earlier_failures: 0,
        retry_failed: true,
        jitter: 0.0,
    }
}

#[test]
fn three_attempts_with_growing_waits() {
    let failed = AttemptOutcome::Failed("no".into());
    let seconds = Duration::from_secs;
    assert_eq!(
        after_attempt(&failed, context(1, false)),
        AfterAttempt::Retry(seconds(1))
    );
    let widest = AttemptContext {
        jitter: 1.0,
        ..context(2, false)
    };
    assert_eq!(
        after_attempt(&failed, widest),
        AfterAttempt::Retry(seconds(3))
    );
    assert_eq!(
        after_attempt(&failed, context(3, false)),
        AfterAttempt::GiveUp {
            retry_after: Some(seconds(60))
        }
    );
}

#[test]
fn slow_retries_grow_to_an_hour_and_can_be_off() {
    let failed = AttemptOutcome::Failed("no".into());
    let waits: Vec<_> = (0..9)
        .map(|earlier_failures| {
            let context = AttemptContext {
                earlier_failures,
                ..context(ATTEMPTS, false)
            };
            match after_attempt(&failed, context) {
                AfterAttempt::GiveUp {
                    retry_after: Some(wait),
                } => wait.as_secs(),
                other => panic!("{other:?}"),
            }
        })
        .collect();
    assert_eq!(waits, [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]);
    let off = AttemptContext {
        retry_failed: false,
        ..context(ATTEMPTS, false)
    };
    assert_eq!(
        after_attempt(&failed, off),
        AfterAttempt::GiveUp { retry_after: None }
    );
}

#[test]
fn a_newer_input_ends_the_attempts_of_the_older() {
    let failed = AttemptOutcome::Failed("no".into());
    assert_eq!(
        after_attempt(&failed, context(1, true)),
        AfterAttempt::GiveUp { retry_after: None }
    );
    assert_eq!(
        after_attempt(&AttemptOutcome::Interrupted, context(1, true)),
        AfterAttempt::Cancel
    );
    assert_eq!(
        after_attempt(&AttemptOutcome::Interrupted, context(1, false)),
        AfterAttempt::Requeue
    );
}

#[test]
fn a_single_run_fails_at_once_and_for_good() {
    let single = AttemptContext {
        single: true,
        ..context(1, false)
    };
    assert_eq!(
        after_attempt(&AttemptOutcome::Failed("no".into()), single),
        AfterAttempt::GiveUp { retry_after: None }
    );
    assert_eq!(
        after_attempt(&AttemptOutcome::Interrupted, single),
        AfterAttempt::Requeue,
        "an attempt that was cut off was none"
    );
    assert_eq!(
        after_attempt(&AttemptOutcome::Applied, single),
        AfterAttempt::Settle
    );
}

fn plan() -> AttemptOutcome {
    AttemptOutcome::Planned(Plan::new(true, "Plan: 1 to add".into()))
}

fn outcomes() -> [AttemptOutcome; 5] {
    [
        AttemptOutcome::Applied,
        plan(),
        AttemptOutcome::Checked,
        AttemptOutcome::Failed("no".into()),
        AttemptOutcome::Interrupted,
    ]
}

#[test]
fn a_worker_that_did_something_else_has_failed() {
    let applies = outcomes().map(|outcome| outcome.error(RunKind::Apply).is_some());
    assert_eq!(applies, [false, true, true, true, false]);
    let plans = outcomes().map(|outcome| outcome.error(RunKind::Plan).is_some());
    assert_eq!(plans, [true, false, true, true, false]);
    let checks = outcomes().map(|outcome| outcome.error(RunKind::Check).is_some());
    assert_eq!(checks, [true, true, false, true, false]);
}

#[test]
fn only_an_apply_settles_and_what_applies_nothing_just_ends() {
    for outcome in outcomes() {
        let applied = after_attempt(&outcome, context(1, false));
        let is_applied = outcome == AttemptOutcome::Applied;
        assert_eq!(applied == AfterAttempt::Settle, is_applied, "{outcome:?}");
        assert!(!matches!(applied, AfterAttempt::End { .. }));
        for kind in [RunKind::Plan, RunKind::Check] {
            let around = AttemptContext {
                kind,
                ..context(1, false)
            };
            let after = after_attempt(&outcome, around);
            let expected = match &outcome {
                AttemptOutcome::Interrupted => AfterAttempt::Requeue,
                outcome => AfterAttempt::End {
                    succeeded: outcome.error(kind).is_none(),
                },
            };
            assert_eq!(after, expected, "{kind:?} {outcome:?}");
        }
    }
}

#[test]
fn a_creation_that_fails_leaves_no_event() {
    let creating = AttemptContext {
        phase: TaskPhase::Creating,
        ..context(1, false)
    };
    let after = outcomes().map(|outcome| after_attempt(&outcome, creating));
    let failed = AfterAttempt::End { succeeded: false };
    let expected = [
        AfterAttempt::Settle,
        failed,
        failed,
        failed,
        AfterAttempt::Requeue,
    ];
    assert_eq!(after, expected);
}

#[test]
fn a_task_that_is_deleted_has_no_further_attempt() {
    for kind in RunKind::ALL {
        for outcome in outcomes() {
            let deleting = AttemptContext {
                kind,
                phase: TaskPhase::Deleting,
                ..context(1, false)
            };
            let after = after_attempt(&outcome, deleting);
            let goes_on = matches!(
                after,
                AfterAttempt::Retry(_)
                    | AfterAttempt::Requeue
                    | AfterAttempt::GiveUp {
                        retry_after: Some(_)
                    }
            );
            assert!(!goes_on, "{kind:?} {outcome:?}: {after:?}");
        }
    }
}

#[test]
fn kinds_are_told_apart() {
    let only = |kind| RunKind::ALL.map(|other| RunKinds::has(kind, other));
    assert_eq!(only(RunKinds::ALL), [true; 3]);
    assert_eq!(only(RunKinds::APPLIES), [true, false, false]);
    assert_eq!(only(RunKinds::PLANS), [false, true, false]);
    assert_eq!(RunKinds::ALL.and(RunKinds::APPLIES), RunKinds::APPLIES);
    assert_eq!(only(RunKinds::PLANS.and(RunKinds::APPLIES)), [false; 3]);
    assert_eq!(RunKind::ALL.map(RunKind::applies), [true, false, false]);
}

#[test]
fn a_requested_run_is_queued_whatever_there_is() {
    let requested = WantedApply {
        single: true,
        requested: true,
        ..wanted(1)
    };
    for (queued, running, settled) in [
        (None, None, None),
        (None, Some(1), None),
        (None, None, Some(1)),
        (Some(1), None, None),
        (Some(2), Some(1), None),
    ] {
        let state = runs(queued, running, settled);
        let expected = match queued {
            None => EnqueueDecision::Enqueue,
            Some(_) => EnqueueDecision::Supersede,
        };
        assert_eq!(decide_enqueue(state, requested), expected, "{state:?}");
    }
}

#[test]
fn only_tasks_that_are_there_have_runs_that_nobody_asked_for() {
    let phases = TaskPhase::ALL;
    let may = |enabled, kind, asked| phases.map(|phase| may_enqueue(phase, enabled, kind, asked));
    for kind in RunKind::ALL {
        let ready = [false, true, false, false];
        assert_eq!(may(true, kind, Asked::Nobody), ready);
        let off = if kind.applies() { [false; 4] } else { ready };
        assert_eq!(may(false, kind, Asked::Nobody), off);
        for enabled in [false, true] {
            let begun = [true, true, false, false];
            assert_eq!(may(enabled, kind, Asked::Open), begun, "creating and ready");
            assert_eq!(may(enabled, kind, Asked::Refused), [false; 4]);
            assert_eq!(may(enabled, kind, Asked::Queued), [true; 4]);
        }
    }
}

proptest! {
    /// Whatever the surroundings, what applies nothing ends the same way.
    #[test]
    fn nothing_around_it_counts_for_what_applies_nothing(
        which in 0_usize..5, single in any::<bool>(), attempts in 1_u32..9,
        newer_waits in any::<bool>(), earlier_failures in 0_u32..9, retry_failed in any::<bool>(),
        jitter in 0.0_f64..1.0, check in any::<bool>(),
    ) {
        let outcome = &outcomes()[which];
        let kind = if check { RunKind::Check } else { RunKind::Plan };
        let alone = AttemptContext { kind, ..context(1, false) };
        let around = AttemptContext {
            single,
            attempts,
            newer_waits,
            earlier_failures,
            retry_failed,
            jitter,
            ..alone
        };
        prop_assert_eq!(after_attempt(outcome, around), after_attempt(outcome, alone));
    }
}

/// What waits or runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Waiting {
    kind: RunKind,
    input: Digest,
    single: bool,
}

/// One task's runs as the store keeps them, driven by the decisions alone.
#[derive(Debug, Default)]
struct Model {
    queued: Option<Waiting>,
    plans: Vec<Waiting>,
    running: Option<Waiting>,
    settled: Option<Digest>,
    attempts: u32,
    ended_plans: u32,
    /// A single run has failed, and nothing follows it: whoever asked for it knows.
    single_failed: bool,
    /// What Terraform has really done.
    really_applied: Option<Digest>,
}

impl Model {
    fn runs(&self) -> TaskRuns {
        let applying = self.running.filter(|run| run.kind == RunKind::Apply);
        TaskRuns {
            queued: self.queued.map(|run| QueuedApply {
                input: run.input,
                single: run.single,
            }),
            running: applying.map(|run| run.input),
            settled: self.settled,
        }
    }

    fn change(&mut self, to: Digest, single: bool, requested: bool) {
        let wanted = WantedApply {
            input: to,
            single,
            skip_unchanged: !single,
            requested,
        };
        match decide_enqueue(self.runs(), wanted) {
            EnqueueDecision::Enqueue | EnqueueDecision::Replace | EnqueueDecision::Supersede => {
                self.single_failed = false;
                self.queued = Some(Waiting {
                    kind: RunKind::Apply,
                    input: to,
                    single,
                });
            }
            EnqueueDecision::Skip {
                cancel_queued: true,
            } => self.queued = None,
            EnqueueDecision::Keep
            | EnqueueDecision::Skip {
                cancel_queued: false,
            } => {}
        }
    }

    fn ask_for_plan(&mut self, of: Digest) {
        self.plans.push(Waiting {
            kind: RunKind::Plan,
            input: of,
            single: true,
        });
    }

    /// Leases the plan that waits longest, or what is to be applied.
    fn lease(&mut self, plans_first: bool) {
        if self.running.is_some() {
            return;
        }
        if !self.plans.is_empty() && (plans_first || self.queued.is_none()) {
            self.running = Some(self.plans.remove(0));
        } else if let Some(queued) = self.queued.take() {
            self.running = Some(queued);
            self.settled = None;
            self.really_applied = None;
            self.attempts += 1;
        }
    }

    fn finish(&mut self, outcome: &AttemptOutcome) {
        let Some(running) = self.running.take() else {
            return;
        };
        let around = AttemptContext {
            kind: running.kind,
            single: running.single,
            ..context(self.attempts.max(1), self.queued.is_some())
        };
        match after_attempt(outcome, around) {
            AfterAttempt::Settle => {
                self.settled = Some(running.input);
                self.really_applied = Some(running.input);
            }
            AfterAttempt::Requeue if running.kind == RunKind::Plan => {
                self.plans.insert(0, running);
            }
            AfterAttempt::Retry(_)
            | AfterAttempt::Requeue
            | AfterAttempt::GiveUp {
                retry_after: Some(_),
            } => self.queued = Some(running),
            AfterAttempt::GiveUp { retry_after: None } if self.queued.is_none() => {
                assert!(running.single, "only a single run may be given up for good");
                self.single_failed = true;
            }
            AfterAttempt::GiveUp { retry_after: None } | AfterAttempt::Cancel => {}
            AfterAttempt::End { .. } => self.ended_plans += 1,
        }
    }

    /// The end that a worker gives to what runs, if it is not cut off.
    fn succeed(&mut self) {
        match self.running.map(|run| run.kind) {
            Some(RunKind::Plan) => self.finish(&plan()),
            _ => self.finish(&AttemptOutcome::Applied),
        }
    }
}

proptest! {
    /// P3 in small: whatever changes, fails, is planned and is interrupted in between, once runs succeed
    /// again the last input is the applied one, and every plan has ended. Only where a single run has
    /// failed last, its failure stands.
    #[test]
    fn the_last_input_is_applied_in_the_end(steps in prop::collection::vec((0u8..6, 0u8..4), 1..60)) {
        let mut model = Model::default();
        let mut wanted = None;
        let mut plans = 0;
        for (kind, n) in steps {
            match kind {
                0 => {
                    model.change(input(n), false, false);
                    wanted = Some(input(n));
                }
                1 => model.lease(n % 2 == 0),
                2 => model.succeed(),
                3 => {
                    model.ask_for_plan(input(n));
                    plans += 1;
                }
                4 if n % 2 == 0 => model.finish(&AttemptOutcome::Interrupted),
                4 => model.finish(&AttemptOutcome::Failed("no".into())),
                _ => {
                    // Somebody asks once for what is the case.
                    if let Some(wanted) = wanted {
                        model.change(wanted, true, n % 2 == 0);
                    }
                }
            }
            prop_assert_eq!(model.settled.is_some(), model.really_applied.is_some());
        }
        while model.running.is_some() || model.queued.is_some() || !model.plans.is_empty() {
            model.succeed();
            model.lease(false);
        }
        let expected = wanted.filter(|_| !model.single_failed);
        prop_assert_eq!(model.really_applied, expected);
        prop_assert_eq!(model.ended_plans, plans);
    }

    /// Plans are invisible to everything else: without them the same steps lead to the same.
    #[test]
    fn plans_change_nothing_for_the_others(steps in prop::collection::vec((0u8..4, 0u8..5), 1..60)) {
        let (mut with, mut without) = (Model::default(), Model::default());
        for (kind, n) in steps {
            match kind {
                0 => for model in [&mut with, &mut without] {
                    model.change(input(n), n >= 3, n == 4);
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
