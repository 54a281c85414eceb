use super::*;

mod attempts;
mod cancels;
mod destroys;
mod model;
mod waits;

fn input(n: u8) -> Digest {
    Digest::of(&[n])
}

fn runs(queued: Option<u8>, running: Option<u8>, last_applied: Option<u8>) -> TaskRuns {
    TaskRuns {
        queued: queued.map(|n| QueuedApply {
            input: input(n),
            no_retry: false,
            braked: false,
        }),
        running: running.map(input),
        withdrawn: false,
        last_applied: last_applied.map(input),
        withheld: None,
        rejected: false,
        owes: false,
    }
}

fn wanted(n: u8) -> WantedApply {
    WantedApply {
        input: input(n),
        skip_unchanged: true,
        requested: false,
        accompanies: false,
        loses_much: false,
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
fn a_change_takes_a_queued_request_over() {
    use EnqueueDecision::{Keep, Replace};
    let queued = |no_retry| TaskRuns {
        queued: Some(QueuedApply {
            input: input(1),
            no_retry,
            braked: false,
        }),
        ..TaskRuns::default()
    };
    for (name, state, number, expected) in [
        ("a change behind a request", queued(true), 2, Replace),
        ("its own input as a change", queued(true), 1, Replace),
        ("a change behind a change", queued(false), 2, Replace),
        ("the same change", queued(false), 1, Keep),
    ] {
        assert_eq!(decide_enqueue(state, wanted(number)), expected, "{name}");
    }
}

#[test]
fn a_requested_run_of_what_is_applied_is_not_pointless() {
    let requested = |number| TaskRuns {
        queued: Some(QueuedApply {
            input: input(number),
            no_retry: true,
            braked: false,
        }),
        last_applied: Some(input(1)),
        ..TaskRuns::default()
    };
    let skip = |cancel_queued| EnqueueDecision::Skip { cancel_queued };
    assert_eq!(decide_enqueue(requested(1), wanted(1)), skip(false));
    assert_eq!(decide_enqueue(requested(2), wanted(1)), skip(true));
}

#[test]
fn a_run_that_is_withdrawn_stands_for_no_input() {
    let withdrawn = TaskRuns {
        withdrawn: true,
        ..runs(None, Some(1), Some(2))
    };
    // Neither the running input nor the input applied before it counts as applied.
    for number in [1, 2] {
        let decision = decide_enqueue(withdrawn, wanted(number));
        assert_eq!(decision, EnqueueDecision::Enqueue);
    }
}

#[test]
fn large_losses_are_blocked_unless_requested_applied_or_queued_already() {
    use EnqueueDecision::{Block, Enqueue, Keep, Skip, Supersede};
    let losing = WantedApply {
        loses_much: true,
        ..wanted(1)
    };
    for (state, expected) in [
        (runs(None, None, Some(2)), Block),
        (runs(Some(2), None, None), Block),
        (runs(None, Some(2), None), Block),
        (runs(Some(1), None, Some(2)), Keep),
        (
            runs(None, None, Some(1)),
            Skip {
                cancel_queued: false,
            },
        ),
    ] {
        assert_eq!(decide_enqueue(state, losing), expected, "{state:?}");
        assert!(!forgets_attempts(Some(input(1)), state, losing, Block));
    }
    let requested = WantedApply {
        requested: true,
        ..losing
    };
    let (empty, queued) = (runs(None, None, None), runs(Some(2), None, None));
    assert_eq!(decide_enqueue(empty, requested), Enqueue);
    assert_eq!(decide_enqueue(queued, requested), Supersede);
}

#[test]
fn a_run_that_accompanies_something_passes_no_guard_and_is_not_skipped() {
    use EnqueueDecision::{Block, Enqueue, Supersede, Withhold};
    let accompanying = WantedApply {
        requested: true,
        accompanies: true,
        ..wanted(1)
    };
    let losing = WantedApply {
        loses_much: true,
        ..accompanying
    };
    let withheld = TaskRuns {
        withheld: Some(input(1)),
        ..runs(None, None, Some(2))
    };
    let braked = TaskRuns {
        queued: Some(QueuedApply {
            input: input(1),
            no_retry: false,
            braked: true,
        }),
        ..runs(None, None, Some(2))
    };
    for (state, wanted, expected) in [
        (braked, losing, Block),
        (braked, accompanying, Supersede),
        (runs(None, None, Some(1)), accompanying, Enqueue),
        (runs(None, Some(1), None), accompanying, Enqueue),
        (runs(Some(2), None, Some(1)), accompanying, Supersede),
        (runs(None, None, Some(2)), losing, Block),
        (runs(Some(3), None, Some(2)), losing, Block),
        // The shrink limit has already let the queued run of the same input through.
        (runs(Some(1), None, Some(2)), losing, Supersede),
        (withheld, accompanying, Withhold),
    ] {
        assert_eq!(decide_enqueue(state, wanted), expected, "{state:?}");
        let forgets = forgets_attempts(Some(input(1)), state, wanted, expected);
        assert!(!forgets || !matches!(expected, Block | Withhold));
    }
}

#[test]
fn an_owed_run_is_made_by_the_next_input_that_no_guard_holds() {
    use EnqueueDecision::{Block, Enqueue, Keep, Replace, Withhold};
    let skip = EnqueueDecision::Skip {
        cancel_queued: false,
    };
    let withdrawn = TaskRuns {
        withdrawn: true,
        ..runs(None, Some(1), None)
    };
    let owing = |state| TaskRuns {
        owes: true,
        ..state
    };
    let requested = |state: TaskRuns| TaskRuns {
        queued: state.queued.map(|queued| QueuedApply {
            no_retry: true,
            ..queued
        }),
        ..state
    };
    let losing = WantedApply {
        loses_much: true,
        ..wanted(1)
    };
    let always = WantedApply {
        skip_unchanged: false,
        ..wanted(1)
    };
    let withheld = TaskRuns {
        withheld: Some(input(1)),
        ..runs(None, None, Some(1))
    };
    for (state, wanted, expected) in [
        (runs(None, None, Some(1)), wanted(1), Enqueue),
        (runs(Some(1), None, Some(1)), wanted(1), Keep),
        // The requested run of the same input is the owed run.
        (requested(runs(Some(1), None, Some(1))), wanted(1), Keep),
        (runs(Some(2), None, Some(1)), wanted(1), Replace),
        // A run at work has the wanted input, and is the owed run.
        (runs(None, Some(1), None), wanted(1), skip),
        (runs(None, Some(2), None), wanted(1), Enqueue),
        (withdrawn, wanted(1), Enqueue),
        (runs(None, None, Some(1)), losing, Block),
        (withheld, wanted(1), Withhold),
        (withheld, always, Withhold),
    ] {
        assert_eq!(decide_enqueue(owing(state), wanted), expected, "{state:?}");
    }
}

fn context(attempts: u32, newer_waits: bool) -> AttemptContext {
    AttemptContext {
        kind: RunKind::Apply,
        phase: TaskPhase::Ready,
        destroying: false,
        enabled: true,
        no_retry: false,
        tried: false,
        attempts,
        newer_waits,
        earlier_failures: 0,
        retry_failed: true,
        waits: false,
        withdrawn: false,
        cancelled: false,
        state_refused: false,
        jitter: 0.0,
    }
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
fn kinds_are_told_apart() {
    let only = |kind| RunKind::ALL.map(|other| RunKinds::has(kind, other));
    assert_eq!(only(RunKinds::ALL), [true; 5]);
    assert_eq!(only(RunKinds::APPLIES), [true, false, false, false, false]);
    assert_eq!(only(RunKinds::PLANS), [false, true, false, false, false]);
    assert_eq!(
        RunKind::ALL.map(RunKind::applies),
        [true, false, false, false, false]
    );
}

#[test]
fn a_requested_run_is_queued_whatever_there_is() {
    let requested = WantedApply {
        requested: true,
        ..wanted(1)
    };
    for (queued, running, last_applied) in [
        (None, None, None),
        (None, Some(1), None),
        (None, None, Some(1)),
        (Some(1), None, None),
        (Some(2), Some(1), None),
    ] {
        let state = runs(queued, running, last_applied);
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
    let may =
        |enabled, kind, request| phases.map(|phase| may_enqueue(phase, enabled, kind, request));
    for kind in RunKind::ENQUEUED {
        let ready = [false, true, false, false];
        assert_eq!(may(true, kind, RequestState::None), ready);
        let off = if kind.applies() { [false; 4] } else { ready };
        assert_eq!(may(false, kind, RequestState::None), off);
        for enabled in [false, true] {
            let begun = [true, true, false, false];
            assert_eq!(
                may(enabled, kind, RequestState::Open),
                begun,
                "creating and ready"
            );
            assert_eq!(may(enabled, kind, RequestState::Refused), [false; 4]);
            assert_eq!(may(enabled, kind, RequestState::Queued), [true; 4]);
        }
    }
}
