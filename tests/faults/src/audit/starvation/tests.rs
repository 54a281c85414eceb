use super::super::record::{RunState, Switched};
use super::*;

const SECOND: i64 = 1_000_000;

fn state(status: &str) -> RunState {
    RunState {
        status: status.to_owned(),
        epoch: 0,
        holder: None,
        expires: None,
    }
}

/// A write in seconds; `statuses` are the ones before (empty for none) and after.
fn write(at: i64, task: &str, run: &str, statuses: [&str; 2], due: i64) -> RunWrite {
    RunWrite {
        at: at * SECOND,
        run: run.to_owned(),
        task: task.to_owned(),
        kind: "apply".to_owned(),
        input: "i".to_owned(),
        old: (!statuses[0].is_empty()).then(|| state(statuses[0])),
        new: state(statuses[1]),
        due: due * SECOND,
        requested: false,
        ordered: false,
    }
}

fn audit(runs: Vec<RunWrite>) -> Audit {
    Audit {
        runs,
        ..Audit::default()
    }
}

fn bounds() -> Bounds {
    Bounds {
        wait: 10 * SECOND,
        outages: Vec::new(),
        settling: Vec::new(),
        slots: vec![(0, 2)],
    }
}

fn outage(from: i64, until: i64) -> Outage {
    Outage {
        from: from * SECOND,
        until: until * SECOND,
    }
}

/// Due at 5, leased at `at`.
fn leased(at: i64) -> Vec<RunWrite> {
    vec![
        write(1, "t", "r", ["", "queued"], 5),
        write(at, "t", "r", ["queued", "running"], 5),
    ]
}

#[test]
fn a_wait_begins_when_the_run_is_due_and_has_a_bound() {
    let judged = starvation(&audit(leased(15)), &bounds(), 100 * SECOND);
    assert_eq!(judged.violations, []);
    assert_eq!(judged.longest.until - judged.longest.since, 10 * SECOND);
    let judged = starvation(&audit(leased(16)), &bounds(), 100 * SECOND);
    assert_eq!(judged.violations.len(), 1, "{judged:?}");
    assert_eq!(judged.violations[0].rule, Rule::NothingStarves);
}

#[test]
fn a_run_that_is_never_leased_is_found() {
    let mut runs = leased(6);
    runs.pop();
    assert_eq!(
        starvation(&audit(runs.clone()), &bounds(), 14 * SECOND).violations,
        []
    );
    let judged = starvation(&audit(runs), &bounds(), 40 * SECOND);
    assert_eq!(judged.violations.len(), 1, "{judged:?}");
}

#[test]
fn outages_and_taken_slots_are_no_starvation() {
    let mut bounds = bounds();
    bounds.outages = vec![outage(4, 20), outage(10, 29)];
    let judged = starvation(&audit(leased(38)), &bounds, 100 * SECOND);
    assert_eq!(judged.violations, []);
    assert_eq!(judged.longest_idle.idle, 9 * SECOND);

    let mut runs = leased(38);
    for task in ["a", "b"] {
        let queued = write(0, task, task, ["", "queued"], 0);
        runs.insert(0, write(2, task, task, ["queued", "running"], 0));
        runs.insert(0, queued);
    }
    let last = runs.len() - 1;
    runs.insert(last, write(30, "a", "a", ["running", "succeeded"], 0));
    runs.sort_by_key(|write| write.at);
    let judged = starvation(&audit(runs), &self::bounds(), 100 * SECOND);
    assert_eq!(judged.violations, [], "{judged:?}");

    let mut none = self::bounds();
    none.slots = vec![(0, 0), (30 * SECOND, 2)];
    assert_eq!(
        starvation(&audit(leased(38)), &none, 100 * SECOND).violations,
        []
    );
}

#[test]
fn a_replacement_that_makes_a_due_run_due_again_does_not_hide_its_wait() {
    let mut runs = leased(40);
    for at in [12, 20, 30] {
        runs.insert(
            runs.len() - 1,
            write(at, "t", "r", ["queued", "queued"], at),
        );
    }
    let judged = starvation(&audit(runs), &bounds(), 100 * SECOND);
    assert_eq!(judged.violations.len(), 1, "{judged:?}");
    assert_eq!(judged.longest.since, 5 * SECOND);
}

#[test]
fn a_destruction_waits_only_since_somebody_asked_for_it_again() {
    const NEVER: i64 = 253_402_300_000;
    let destroys = |write: RunWrite| RunWrite {
        kind: "destroy".to_owned(),
        ..write
    };
    let runs = [
        write(1, "t", "r", ["", "queued"], 1),
        write(2, "t", "r", ["queued", "queued"], NEVER),
        write(50, "t", "r", ["queued", "queued"], 50),
        write(70, "t", "r", ["queued", "running"], 50),
    ];
    let asked = starvation(&audit(runs.map(destroys).to_vec()), &bounds(), 100 * SECOND);
    assert_eq!(asked.longest.since, 50 * SECOND);
    assert_eq!(asked.violations.len(), 1, "{asked:?}");
}

#[test]
fn the_other_run_of_a_task_and_its_disabled_time_are_no_wait() {
    let mut runs = vec![
        write(0, "t", "q", ["", "queued"], 0),
        write(0, "t", "q", ["queued", "running"], 0),
    ];
    runs.extend(leased(41));
    runs.insert(3, write(40, "t", "q", ["running", "succeeded"], 0));
    assert_eq!(
        starvation(&audit(runs), &bounds(), 100 * SECOND).violations,
        []
    );

    let mut disabled = audit(leased(41));
    for (at, enabled) in [(0, false), (40, true)] {
        disabled.switches.push(Switched {
            at: at * SECOND,
            task: "t".to_owned(),
            enabled: Some(enabled),
        });
    }
    assert_eq!(
        starvation(&disabled, &bounds(), 100 * SECOND).violations,
        []
    );
}

#[test]
fn a_run_that_is_passed_over_again_and_again_is_found() {
    let mut runs = leased(60);
    for number in 0..8 {
        let task = format!("u{number}");
        let at = 20 + number;
        runs.push(write(at, &task, &task, ["", "queued"], at));
        runs.push(write(at, &task, &task, ["queued", "running"], at));
        runs.push(write(at + 1, &task, &task, ["running", "succeeded"], at));
    }
    // Queued at one moment and granted at the next.
    for write in &mut runs {
        if write.new.status == "running" && write.task != "t" {
            write.at += 1;
        }
    }
    runs.sort_by_key(|write| write.at);
    // With all slots taken the wait alone is no violation.
    let mut busy = bounds();
    busy.slots = vec![(0, 0)];
    let judged = starvation(&audit(runs.clone()), &busy, 100 * SECOND);
    assert_eq!(judged.violations.len(), 1, "{judged:?}");
    assert!(judged.violations[0].evidence.contains("passed over"));
    // Withdrawn runs have taken no place.
    runs.retain(|write| write.task == "t" || write.new.status != "succeeded");
    for write in &mut runs {
        if write.new.status == "running" && write.task != "t" {
            write.new.status = "cancelled".to_owned();
        }
    }
    let judged = starvation(&audit(runs), &busy, 100 * SECOND);
    assert_eq!(judged.violations, []);
}

#[test]
fn no_order_is_asked_for_while_blocks_settle() {
    let mut writes = vec![write(1, "old", "old", ["", "queued"], 1)];
    for number in 0..8 {
        let run = format!("r{number}");
        writes.push(write(20 + number, &run, &run, ["", "queued"], 20));
    }
    for number in 0..8 {
        let run = format!("r{number}");
        writes.push(write(40 + number, &run, &run, ["queued", "running"], 20));
    }
    writes.push(write(60, "old", "old", ["queued", "running"], 1));
    let audit = audit(writes);
    let judged = |bounds: &Bounds| starvation(&audit, bounds, 100 * SECOND).violations.len();
    let strict = Bounds {
        outages: vec![outage(0, 100)],
        ..bounds()
    };
    assert_eq!(judged(&strict), 1);
    let settling = Bounds {
        settling: vec![outage(50, 55)],
        ..strict
    };
    assert_eq!(judged(&settling), 0);
}
