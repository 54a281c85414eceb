use super::super::record::{RunState, Switched};
use super::*;
use crate::journal::parse;

const SECOND: i64 = 1_000_000;

fn write(at: i64, kind: &str, from: &str, to: &str) -> RunWrite {
    let state = |status: &str| RunState {
        status: status.to_owned(),
        epoch: 1,
        holder: None,
        expires: None,
    };
    RunWrite {
        at: at * SECOND,
        run: kind.to_owned(),
        task: "t".to_owned(),
        kind: kind.to_owned(),
        input: "i".to_owned(),
        old: Some(state(from)),
        new: state(to),
        due: 0,
        requested: false,
        ordered: false,
    }
}

/// Made at 10 s, applied from 11 s, destroyed from 21 s and gone at 24 s.
fn audit() -> Audit {
    let switches = [(10, Some(true)), (24, None)].map(|(at, enabled)| Switched {
        at: at * SECOND,
        task: "t".to_owned(),
        enabled,
    });
    Audit {
        runs: vec![
            write(11, "apply", "queued", "running"),
            write(12, "apply", "running", "succeeded"),
            write(21, "destroy", "queued", "running"),
            write(23, "destroy", "running", "succeeded"),
        ],
        switches: switches.into(),
        ..Audit::default()
    }
}

fn remains(destroys: bool, left: Option<&[&str]>) -> Remains<'static> {
    Remains {
        task: "t",
        destroys,
        deleted: true,
        resources: left.map(|left| left.iter().map(|one| (*one).to_owned()).collect()),
    }
}

fn found(audit: &Audit, remains: &Remains<'_>) -> usize {
    usize::from(destroyed(audit, remains, &[], &Orphans::default()).is_some())
}

#[test]
fn finds_remains_of_a_destroyed_task() {
    assert_eq!(found(&audit(), &remains(true, Some(&[]))), 0);
    assert_eq!(found(&audit(), &remains(true, None)), 0);
    assert_eq!(found(&audit(), &remains(true, Some(&["kept"]))), 1);
    let created_since = Remains {
        deleted: false,
        ..remains(true, Some(&["kept"]))
    };
    assert_eq!(found(&audit(), &created_since), 0);
}

#[test]
fn an_orphan_may_have_made_it_afterwards() {
    let seen = [Sighting {
        task: "t".to_owned(),
        worker: "w".to_owned(),
        group: 1,
        from: 1200,
        until: 2500,
    }];
    let orphans = Orphans {
        workers: ["w".to_owned()].into(),
        ..Orphans::default()
    };
    let left = remains(true, Some(&["kept"]));
    assert_eq!(destroyed(&audit(), &left, &seen, &orphans), None);
    assert!(destroyed(&audit(), &left, &seen, &Orphans::default()).is_some());
}

#[test]
fn a_task_that_goes_without_its_destruction_is_found() {
    let mut audit = audit();
    audit.runs.truncate(3);
    assert_eq!(found(&audit, &remains(true, Some(&[]))), 1);
    audit.runs.clear();
    assert_eq!(
        found(&audit, &remains(true, None)),
        0,
        "nothing was applied"
    );
}

#[test]
fn finds_missing_resources_of_a_retained_task() {
    let mut audit = audit();
    audit.runs.truncate(2);
    assert_eq!(found(&audit, &remains(false, Some(&["kept"]))), 0);
    assert_eq!(found(&audit, &remains(false, Some(&[]))), 1);
    assert_eq!(found(&audit, &remains(false, None)), 1);
    audit.runs.clear();
    assert_eq!(
        found(&audit, &remains(false, None)),
        0,
        "nothing was applied"
    );
}

#[test]
fn only_a_run_that_destroys_does_so() {
    let found = |journal: &str, orphans: &Orphans| {
        destructions(&audit(), "t", &parse(journal).unwrap(), orphans).len()
    };
    let none = Orphans::default();
    assert_eq!(found("gone 2 2 w 22.00 \n", &none), 0);
    assert_eq!(found("gone 2 2 w 15.00 \n", &none), 1);
    assert_eq!(found("gone 2 2 w 5.00 \n", &none), 1);
    let forgotten = Orphans {
        forgotten: vec![super::super::Outage {
            from: 14 * SECOND,
            until: 16 * SECOND,
        }],
        ..Orphans::default()
    };
    assert_eq!(found("gone 2 2 w 15.00 \n", &forgotten), 0);
}
