use super::super::equal_inputs;
use super::super::record::{RunState, Settled, Switched};
use super::super::starvation::Outage;
use super::*;

fn state(status: &str, epoch: i64, holder: Option<&str>, expires: Option<i64>) -> RunState {
    RunState {
        status: status.to_owned(),
        epoch,
        holder: holder.map(str::to_owned),
        expires,
    }
}

fn queued(epoch: i64) -> RunState {
    state("queued", epoch, None, None)
}

fn leased(epoch: i64, holder: &str, expires: i64) -> RunState {
    state("running", epoch, Some(holder), Some(expires))
}

fn write(at: i64, run: &str, old: Option<RunState>, new: RunState) -> RunWrite {
    RunWrite {
        at,
        run: run.to_owned(),
        task: "t".to_owned(),
        kind: "apply".to_owned(),
        input: "i".to_owned(),
        old,
        new,
        due: 0,
        requested: false,
        ordered: false,
    }
}

const SECOND: i64 = 1_000_000;

/// A run that is granted to `a`, taken back, granted to `b`, and succeeds.
fn orderly() -> Audit {
    let done = state("succeeded", 2, None, None);
    let runs = vec![
        write(0, "r", None, queued(0)),
        write(SECOND, "r", Some(queued(0)), leased(1, "a", 7 * SECOND)),
        write(
            3 * SECOND,
            "r",
            Some(leased(1, "a", 7 * SECOND)),
            leased(1, "a", 9 * SECOND),
        ),
        write(
            10 * SECOND,
            "r",
            Some(leased(1, "a", 9 * SECOND)),
            queued(1),
        ),
        write(
            11 * SECOND,
            "r",
            Some(queued(1)),
            leased(2, "b", 17 * SECOND),
        ),
        write(15 * SECOND, "r", Some(leased(2, "b", 17 * SECOND)), done),
    ];
    Audit {
        runs,
        ..Audit::default()
    }
}

/// The machine was started at 0 by the database's clock.
fn work(worker: &str, from: u64, until: u64) -> Sighting {
    Sighting {
        task: "t".to_owned(),
        worker: worker.to_owned(),
        group: 1,
        from: from * 100,
        until: until * 100,
    }
}

fn rules(violations: &[Violation]) -> Vec<Rule> {
    violations.iter().map(|violation| violation.rule).collect()
}

#[test]
fn orderly_writes_are_no_violation() {
    let seen = [work("a", 2, 5), work("b", 12, 14)];
    assert_eq!(runs(&orderly(), &seen, true), []);
}

#[test]
fn a_success_of_one_that_was_overtaken_is_found() {
    // Only the first holder has worked, and it reported after the second had been granted the run.
    let seen = [work("a", 2, 14)];
    assert_eq!(rules(&runs(&orderly(), &seen, true)), [Rule::NoStaleWrite]);
    let too_early = [work("b", 2, 9)];
    assert_eq!(
        rules(&runs(&orderly(), &too_early, true)),
        [Rule::NoStaleWrite]
    );
}

#[test]
fn a_success_under_the_first_grant_needs_no_witness() {
    let mut audit = orderly();
    audit.runs.truncate(2);
    let done = state("succeeded", 1, None, None);
    audit.runs.push(write(
        2 * SECOND,
        "r",
        Some(leased(1, "a", 7 * SECOND)),
        done,
    ));
    assert_eq!(runs(&audit, &[], true), []);
}

#[test]
fn epochs_that_do_not_move_with_the_grant_are_found() {
    let seen = [work("a", 2, 5), work("b", 12, 14)];
    for (position, epoch) in [(1, 0), (2, 2), (3, 0), (4, 1), (5, 1)] {
        let mut audit = orderly();
        audit.runs[position].new.epoch = epoch;
        assert_eq!(
            rules(&runs(&audit, &seen, true)),
            [Rule::NoStaleWrite],
            "{position}"
        );
    }
}

#[test]
fn leases_that_move_by_themselves_are_found() {
    let seen = [work("a", 2, 5), work("b", 12, 14)];
    let mut other_holder = orderly();
    other_holder.runs[2].new.holder = Some("b".to_owned());
    let mut shorter = orderly();
    shorter.runs[2].new.expires = Some(5 * SECOND);
    for audit in [other_holder, shorter] {
        assert_eq!(
            rules(&runs(&audit, &seen, true)),
            [Rule::NoStaleWrite],
            "{audit:?}"
        );
    }
}

#[test]
fn a_lease_may_be_renewed_late_and_epochs_jump_after_a_failover() {
    let seen = [work("a", 2, 5), work("b", 12, 14)];
    let mut audit = orderly();
    audit.runs[2].at = 9 * SECOND;
    assert_eq!(runs(&audit, &seen, true), []);
    let step = 1_000_000;
    audit.runs.insert(
        4,
        write(10 * SECOND, "r", Some(queued(1)), queued(1 + step)),
    );
    for write in &mut audit.runs[5..] {
        write.new.epoch += step;
        write.old.as_mut().unwrap().epoch += step;
    }
    assert_eq!(runs(&audit, &seen, true), []);
    audit.runs[4].new.epoch += 1;
    assert_eq!(rules(&runs(&audit, &seen, true)), [Rule::NoStaleWrite]);
}

#[test]
fn a_finished_run_that_changes_is_found() {
    let mut audit = orderly();
    let done = state("succeeded", 2, None, None);
    let failed = state("failed", 2, None, None);
    audit.runs.push(write(16 * SECOND, "r", Some(done), failed));
    let seen = [work("b", 12, 14)];
    assert_eq!(rules(&runs(&audit, &seen, true)), [Rule::NoStaleWrite]);
}

#[test]
fn two_running_runs_of_a_task_are_found() {
    let mut audit = orderly();
    let other = write(
        4 * SECOND,
        "s",
        Some(queued(0)),
        leased(1, "b", 10 * SECOND),
    );
    audit.runs.insert(3, other);
    let seen = [work("a", 2, 5), work("b", 5, 14)];
    assert!(rules(&runs(&audit, &seen, true)).contains(&Rule::OneRunAtATime));
}

#[test]
fn a_grant_of_a_disabled_task_is_found() {
    let mut audit = orderly();
    let seen = [work("a", 2, 5), work("b", 12, 14)];
    let mut switch = |at, enabled| {
        audit.switches.push(Switched {
            at,
            task: "t".to_owned(),
            enabled: Some(enabled),
        });
        runs(&audit, &seen, true)
    };
    assert_eq!(switch(0, true), []);
    assert_eq!(rules(&switch(2 * SECOND, false)), [Rule::NothingLost]);
    assert_eq!(switch(10 * SECOND, true), []);
    let mut check = audit.clone();
    check.switches.truncate(2);
    for write in &mut check.runs {
        write.kind = "check".to_owned();
    }
    assert_eq!(
        runs(&check, &seen, true),
        [],
        "what is disabled may be checked"
    );
}

/// The orderly writes twice, the second time as the run `s`.
fn twice() -> Audit {
    let mut audit = orderly();
    let mut again = orderly().runs;
    for write in &mut again {
        write.run = "s".to_owned();
        write.at += 20 * SECOND;
    }
    audit.runs.extend(again);
    audit
}

#[test]
fn finds_an_equal_apply_without_a_request() {
    let of_second = |change: fn(&mut RunWrite)| {
        let mut audit = twice();
        let second = audit.runs.iter_mut().filter(|write| write.run == "s");
        second.for_each(change);
        rules(&equal_inputs(&audit, &[], &[]))
    };
    assert_eq!(of_second(|_| {}), [Rule::NothingTwice]);
    assert_eq!(of_second(|write| write.input = "j".to_owned()), []);
    assert_eq!(of_second(|write| write.requested = true), []);
    assert_eq!(of_second(|write| write.kind = "check".to_owned()), []);
}

#[test]
fn input_that_may_have_been_undone_may_be_applied_again() {
    let mut audit = twice();
    let failed = state("failed", 1, None, None);
    let mut between = [
        write(
            16 * SECOND,
            "x",
            Some(queued(0)),
            leased(1, "a", 20 * SECOND),
        ),
        write(17 * SECOND, "x", Some(leased(1, "a", 20 * SECOND)), failed),
    ];
    for write in &mut between {
        write.input = "j".to_owned();
    }
    audit.runs.splice(6..6, between);
    assert_eq!(equal_inputs(&audit, &[], &[]), []);

    let mut audit = twice();
    audit.switches.push(Switched {
        at: 18 * SECOND,
        task: "t".to_owned(),
        enabled: None,
    });
    assert_eq!(equal_inputs(&audit, &[], &[]), []);
}

/// The first run has succeeded at 15 s, and the second is leased at 21 s.
#[test]
fn input_that_may_be_lost_with_the_timeline_may_be_applied_again() {
    let forgotten = [Outage {
        from: 16 * SECOND,
        until: 19 * SECOND,
    }];
    let found = |seen: &[Sighting], settlements: &[Settled]| {
        let mut audit = twice();
        audit.settlements = settlements.to_vec();
        rules(&equal_inputs(&audit, seen, &forgotten))
    };
    let settled = |at: i64, trusted: bool| Settled {
        at: at * SECOND,
        trusted,
    };
    // Another run of the task was at work in that time.
    assert_eq!(found(&[work("c", 17, 18)], &[settled(20, true)]), []);
    assert_eq!(found(&[work("c", 10, 16)], &[settled(20, true)]), []);
    // No run was at work, or not in that time, or a run of another task was.
    let mut other = work("c", 17, 18);
    other.task = "u".to_owned();
    for seen in [other, work("b", 12, 14), work("c", 1, 3), work("d", 20, 22)] {
        let found = found(std::slice::from_ref(&seen), &[settled(20, true)]);
        assert_eq!(found, [Rule::NothingTwice], "{seen:?}");
    }
    // A worker has not vouched, after this success.
    assert_eq!(found(&[], &[settled(20, false)]), []);
    for at in [14, 22] {
        assert_eq!(
            found(&[], &[settled(at, false)]),
            [Rule::NothingTwice],
            "{at}"
        );
    }
}

fn leading(
    at: i64,
    epochs: [i64; 2],
    holders: [Option<&str>; 2],
    expires: [i64; 2],
) -> LeaderWrite {
    LeaderWrite {
        at,
        epochs,
        holders: holders.map(|holder| holder.map(str::to_owned)),
        expires,
    }
}

#[test]
fn a_leader_that_takes_over_in_time_renews_and_leaves_is_no_violation() {
    let writes = [
        leading(1, [0, 1], [None, Some("a")], [0, 4]),
        leading(3, [1, 1], [Some("a"), Some("a")], [4, 6]),
        leading(7, [1, 2], [Some("a"), Some("b")], [6, 10]),
        leading(8, [2, 2], [Some("b"), None], [10, 10]),
        leading(9, [2, 3], [None, Some("a")], [10, 12]),
        leading(10, [3, 4], [Some("a"), Some("a")], [12, 13]),
    ];
    assert_eq!(leaders(&writes), []);
}

#[test]
fn leaders_out_of_turn_are_found() {
    let smaller = leading(1, [2, 1], [Some("a"), Some("a")], [0, 9]);
    let same_epoch = leading(9, [2, 2], [Some("a"), Some("b")], [0, 12]);
    let too_early = leading(5, [2, 3], [Some("a"), Some("b")], [6, 12]);
    for write in [smaller, same_epoch, too_early] {
        assert_eq!(rules(&leaders(&[write])), [Rule::OneLeader]);
    }
    let back = [
        leading(7, [1, 2], [None, Some("b")], [6, 10]),
        leading(11, [1, 2], [None, Some("a")], [6, 10]),
    ];
    assert_eq!(rules(&leaders(&back)), [Rule::OneLeader]);
}

#[test]
fn two_events_of_one_run_are_found() {
    let event = |run: &str, id: &str| ("t".to_owned(), run.to_owned(), id.to_owned());
    assert_eq!(lone_events(&[event("r", "1"), event("s", "2")]), []);
    assert_eq!(lone_events(&[event("r", "1"), event("r", "2")]).len(), 1);
}

#[test]
fn a_run_whose_remote_run_is_to_be_ended_is_granted_without_the_queue() {
    let waits = |epoch| state("running", epoch, Some(""), Some(0));
    let ended = state("failed", 3, None, None);
    let audit = Audit {
        runs: vec![
            write(0, "r", None, queued(1)),
            write(SECOND, "r", Some(queued(1)), waits(1)),
            write(2 * SECOND, "r", Some(waits(1)), leased(2, "a", 9 * SECOND)),
            // Its worker is lost.
            write(9 * SECOND, "r", Some(leased(2, "a", 9 * SECOND)), waits(2)),
            write(
                10 * SECOND,
                "r",
                Some(waits(2)),
                leased(3, "b", 20 * SECOND),
            ),
            write(11 * SECOND, "r", Some(leased(3, "b", 20 * SECOND)), ended),
        ],
        ..Audit::default()
    };
    assert_eq!(runs(&audit, &[], true), []);
    let mut stolen = audit;
    stolen.runs[4].old = Some(leased(2, "a", 9 * SECOND));
    assert_eq!(runs(&stolen, &[], true).len(), 1);
}
