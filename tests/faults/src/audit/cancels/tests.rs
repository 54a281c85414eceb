use super::super::record::{RunState, Skipped, Switched};
use super::*;

const SECOND: i64 = 1_000_000;

fn state(status: &str) -> RunState {
    RunState {
        status: status.to_owned(),
        epoch: 1,
        holder: None,
        expires: None,
    }
}

/// `from` is empty for a new run.
fn write(at: i64, run: &str, input: &str, from: &str, to: &str) -> RunWrite {
    RunWrite {
        at: at * SECOND,
        run: run.to_owned(),
        task: "t".to_owned(),
        kind: "apply".to_owned(),
        input: input.to_owned(),
        old: (!from.is_empty()).then(|| state(from)),
        new: state(to),
        due: 0,
        requested: false,
        ordered: false,
    }
}

fn ordered(write: RunWrite) -> RunWrite {
    RunWrite {
        ordered: true,
        ..write
    }
}

/// The run `r` of the input `i` is cancelled while it runs.
fn cancelled() -> Audit {
    Audit {
        runs: vec![
            write(0, "r", "i", "", "queued"),
            write(1, "r", "i", "queued", "running"),
            ordered(write(3, "r", "i", "running", "failed")),
        ],
        ..Audit::default()
    }
}

fn then(more: impl IntoIterator<Item = RunWrite>) -> Audit {
    let mut audit = cancelled();
    audit.runs.extend(more);
    audit
}

fn confirmed(withdrawn: bool) -> Confirmed {
    Confirmed {
        run: "r".to_owned(),
        task: "t".to_owned(),
        answered: 200,
        withdrawn,
    }
}

#[test]
fn a_cancelled_run_that_ends_and_a_newer_input_are_no_violation() {
    assert_eq!(cancels(&cancelled(), &[confirmed(false)], false), []);
    let newer = then([
        write(5, "s", "j", "", "queued"),
        write(6, "s", "j", "queued", "running"),
        write(7, "s", "j", "running", "succeeded"),
        write(8, "u", "i", "", "queued"),
    ]);
    assert_eq!(cancels(&newer, &[confirmed(false)], false), []);
}

#[test]
fn a_run_that_is_leased_again_or_does_not_end_is_found() {
    let again = then([write(4, "r", "i", "queued", "running")]);
    assert_eq!(cancels(&again, &[], false).len(), 1, "it was leased again");
    let mut audit = cancelled();
    audit.runs[2].new.status = "queued".to_owned();
    assert_eq!(cancels(&audit, &[], false).len(), 1, "it waits again");
    audit.runs[2].ordered = false;
    assert_eq!(
        cancels(&audit, &[confirmed(false)], false).len(),
        1,
        "it has not ended"
    );
    audit.runs.push(write(4, "r", "i", "queued", "running"));
    audit.runs.push(write(5, "r", "i", "running", "failed"));
    assert_eq!(
        cancels(&audit, &[confirmed(false)], false).len(),
        1,
        "it was leased again"
    );
    assert_eq!(
        cancels(&cancelled(), &[confirmed(true)], false).len(),
        1,
        "it was withdrawn"
    );
}

#[test]
fn a_destruction_that_is_suspended_may_go_on() {
    let mut audit = then([write(4, "r", "i", "queued", "running")]);
    for write in &mut audit.runs {
        write.kind = "destroy".to_owned();
    }
    audit.runs[2].new.status = "queued".to_owned();
    audit.runs[2].due = 253_370_764_800_000_000;
    assert_eq!(cancels(&audit, &[confirmed(false)], false), []);
    audit.runs[2].due = 0;
    assert_eq!(cancels(&audit, &[], false).len(), 1);
}

#[test]
fn a_withheld_input_that_is_queued_unasked_is_found() {
    let again = write(5, "s", "i", "", "queued");
    assert_eq!(cancels(&then([again.clone()]), &[], false).len(), 1);
    let requested = RunWrite {
        requested: true,
        ..again.clone()
    };
    assert_eq!(cancels(&then([requested]), &[], false), []);
    let mut enabled = then([again.clone()]);
    enabled.switches.push(Switched {
        at: 4 * SECOND,
        task: "t".to_owned(),
        enabled: Some(true),
    });
    assert_eq!(cancels(&enabled, &[], false), []);
    let mut skipped = then([again]);
    skipped.skips.push(Skipped {
        at: 4 * SECOND,
        task: "t".to_owned(),
    });
    assert_eq!(cancels(&skipped, &[], false), []);
}

#[test]
fn a_withdrawn_input_is_withheld_and_a_newer_one_that_waits_is_not() {
    let withdrawn = Audit {
        runs: vec![
            write(0, "r", "i", "", "queued"),
            write(1, "r", "i", "queued", "cancelled"),
            write(2, "s", "i", "", "queued"),
        ],
        ..Audit::default()
    };
    assert_eq!(cancels(&withdrawn, &[confirmed(true)], false).len(), 1);
    assert_eq!(
        cancels(&withdrawn, &[], false),
        [],
        "it gave way to another"
    );
    let mut newer = cancelled();
    newer.runs.insert(2, write(2, "s", "j", "", "queued"));
    newer.runs.push(write(4, "s", "j", "queued", "running"));
    newer.runs.push(write(5, "s", "j", "running", "succeeded"));
    newer.runs.push(write(6, "u", "i", "", "queued"));
    assert_eq!(cancels(&newer, &[], false), []);
}

#[test]
fn a_newer_input_that_was_cancelled_before_the_running_one_stays_withheld() {
    let mut audit = cancelled();
    audit.runs.insert(2, write(2, "s", "j", "", "queued"));
    audit
        .runs
        .insert(3, write(2, "s", "j", "queued", "cancelled"));
    audit.runs.push(write(5, "u", "j", "", "queued"));
    let of_newer = Confirmed {
        run: "s".to_owned(),
        ..confirmed(true)
    };
    assert_eq!(cancels(&audit, &[of_newer], false).len(), 1);
}

#[test]
fn a_cancelled_run_may_be_leased_to_end_its_remote_run() {
    let holder = |write: RunWrite, from: &str, to: &str| RunWrite {
        old: write.old.map(|old| RunState {
            holder: Some(from.to_owned()),
            ..old
        }),
        new: RunState {
            holder: Some(to.to_owned()),
            ..write.new
        },
        ..write
    };
    let runs = vec![
        write(0, "r", "i", "", "queued"),
        holder(ordered(write(2, "r", "i", "queued", "running")), "", ""),
        holder(ordered(write(3, "r", "i", "running", "running")), "", "w"),
        ordered(write(4, "r", "i", "running", "failed")),
    ];
    let audit = Audit {
        runs,
        ..Audit::default()
    };
    assert_eq!(cancels(&audit, &[confirmed(false)], false), []);
}
