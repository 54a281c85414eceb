use proptest::prelude::*;

use super::*;

fn input(n: u8) -> Digest {
    Digest::of(&[n])
}

fn runs(queued: Option<u8>, running: Option<u8>, settled: Option<u8>) -> TaskRuns {
    TaskRuns {
        queued: queued.map(input),
        running: running.map(input),
        settled: settled.map(input),
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
        assert_eq!(decide_enqueue(state, input(1), true), expected, "{name}");
    }
}

#[test]
fn without_skipping_every_trigger_runs() {
    let applied = runs(None, None, Some(1));
    assert_eq!(
        decide_enqueue(applied, input(1), false),
        EnqueueDecision::Enqueue
    );
    let running = runs(Some(1), Some(1), None);
    assert_eq!(
        decide_enqueue(running, input(1), false),
        EnqueueDecision::Keep
    );
}

fn context(attempts: u32, newer_waits: bool) -> AttemptContext {
    AttemptContext {
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

/// One task's runs as the store keeps them, driven by the two decisions alone.
#[derive(Debug, Default)]
struct Model {
    runs: TaskRuns,
    attempts: u32,
    really_applied: Option<Digest>,
}

impl Model {
    fn change(&mut self, to: Digest) {
        match decide_enqueue(self.runs, to, true) {
            EnqueueDecision::Enqueue | EnqueueDecision::Replace => self.runs.queued = Some(to),
            EnqueueDecision::Skip {
                cancel_queued: true,
            } => self.runs.queued = None,
            EnqueueDecision::Keep
            | EnqueueDecision::Skip {
                cancel_queued: false,
            } => {}
        }
    }

    fn lease(&mut self) {
        if self.runs.running.is_none()
            && let Some(queued) = self.runs.queued.take()
        {
            self.runs.running = Some(queued);
            self.runs.settled = None;
            self.really_applied = None;
            self.attempts += 1;
        }
    }

    fn finish(&mut self, outcome: &AttemptOutcome) {
        let Some(running) = self.runs.running.take() else {
            return;
        };
        let newer_waits = self.runs.queued.is_some();
        match after_attempt(outcome, context(self.attempts.max(1), newer_waits)) {
            AfterAttempt::Settle => {
                self.runs.settled = Some(running);
                self.really_applied = Some(running);
            }
            AfterAttempt::Retry(_)
            | AfterAttempt::Requeue
            | AfterAttempt::GiveUp {
                retry_after: Some(_),
            } => self.runs.queued = Some(running),
            AfterAttempt::GiveUp { retry_after: None } | AfterAttempt::Cancel => {}
        }
    }
}

proptest! {
    /// P3 in small: whatever changes, fails and is interrupted in between, once runs succeed again
    /// the last input is the applied one.
    #[test]
    fn the_last_input_is_applied_in_the_end(steps in prop::collection::vec((0u8..4, 0u8..4), 1..60)) {
        let mut model = Model::default();
        let mut wanted = None;
        for (kind, n) in steps {
            match kind {
                0 => {
                    model.change(input(n));
                    wanted = Some(input(n));
                }
                1 => model.lease(),
                2 => model.finish(&AttemptOutcome::Applied),
                _ if n % 2 == 0 => model.finish(&AttemptOutcome::Interrupted),
                _ => model.finish(&AttemptOutcome::Failed("no".into())),
            }
            prop_assert_eq!(model.runs.settled.is_some(), model.really_applied.is_some());
        }
        for _ in 0..3 {
            model.finish(&AttemptOutcome::Applied);
            model.lease();
        }
        prop_assert_eq!(model.really_applied, wanted);
    }
}
