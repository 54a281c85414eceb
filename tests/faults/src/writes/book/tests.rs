use serde_json::json;

use super::*;
use crate::writes::tests::plan;

fn book() -> Book {
    Book::new(&plan())
}

fn create(services: &[usize], now: bool) -> Order {
    Order::Create {
        services: services.to_vec(),
        enabled: true,
        now,
    }
}

fn shown(services: &[usize], enabled: bool) -> Shown {
    Shown {
        services: Watched::These(services.to_vec()),
        enabled,
    }
}

#[track_caller]
fn declared(book: &Book, task: usize) -> &Declared {
    match book.certain(task) {
        Some(TaskState::Present(declared)) => declared,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_configuration_has_its_tasks_and_no_other() {
    let book = book();
    assert!(declared(&book, 0).enabled && !declared(&book, 5).enabled);
    assert_eq!(book.certain(6), Some(&TaskState::Absent));
    assert_eq!(book.present().count(), 6);
}

#[test]
fn confirmed_writes_are_certain_and_refused_ones_change_nothing() {
    let mut book = book();
    book.note(6, &create(&[1], true), Outcome::Confirmed);
    assert_eq!(declared(&book, 6).services, [1]);
    assert_eq!(declared(&book, 6).follows, Follows::Surely);
    let replace = Order::Replace {
        services: vec![2],
        enabled: true,
        now: false,
    };
    book.note(6, &replace, Outcome::Refused);
    assert_eq!(declared(&book, 6).services, [1]);
    book.note(6, &replace, Outcome::Confirmed);
    assert_eq!(declared(&book, 6).follows, Follows::FromNextChange);
    book.everything_changed();
    assert_eq!(declared(&book, 6).follows, Follows::Surely);
    book.note(6, &Order::Delete, Outcome::Confirmed);
    assert_eq!(book.certain(6), Some(&TaskState::Absent));
}

#[test]
fn a_confirmed_write_that_is_not_shown_is_found() {
    let mut book = book();
    book.note(6, &create(&[1], true), Outcome::Confirmed);
    assert!(book.settle(6, None).is_err());
    assert!(book.settle(6, Some(&shown(&[2], true))).is_err());
    assert!(book.settle(6, Some(&shown(&[1], false))).is_err());
    assert!(book.settle(6, Some(&shown(&[1], true))).is_ok());
    book.note(0, &Order::Delete, Outcome::Confirmed);
    let services = [0, 1, 2];
    assert!(book.settle(0, Some(&shown(&services, true))).is_err());
}

#[test]
fn an_unknown_write_may_be_done_or_not_but_nothing_else() {
    for (seen, possible) in [
        (None, true),
        (Some(shown(&[1], true)), true),
        (Some(shown(&[2], true)), false),
    ] {
        let mut book = book();
        book.note(6, &create(&[1], true), Outcome::Unknown);
        assert_eq!(book.certain(6), None);
        assert_eq!(book.settle(6, seen.as_ref()).is_ok(), possible, "{seen:?}");
        assert_eq!(book.certain(6).is_some(), possible);
    }
}

#[test]
fn a_promise_in_doubt_is_none() {
    let mut book = book();
    let services = declared(&book, 0).services.clone();
    let run = Order::Switch {
        on: true,
        now: true,
    };
    book.note(0, &run, Outcome::Unknown);
    assert_eq!(
        declared(&book, 0).follows,
        Follows::Surely,
        "it follows anyway"
    );
    let off = Order::Switch {
        on: false,
        now: false,
    };
    book.note(0, &off, Outcome::Unknown);
    book.settle(0, Some(&shown(&services, true))).unwrap();
    assert_eq!(declared(&book, 0).follows, Follows::FromNextChange);
}

#[test]
fn switches_decide_from_when_on_a_task_follows() {
    let mut book = book();
    let switch = |on, now| Order::Switch { on, now };
    let mut follows = |order: &Order| {
        book.note(5, order, Outcome::Confirmed);
        declared(&book, 5).follows
    };
    assert_eq!(follows(&switch(true, false)), Follows::FromNextChange);
    assert_eq!(follows(&switch(true, true)), Follows::Surely);
    assert_eq!(follows(&switch(true, false)), Follows::Surely);
    assert_eq!(follows(&switch(false, false)), Follows::FromNextChange);
    assert_eq!(follows(&switch(true, true)), Follows::Surely);
}

#[test]
fn writes_that_a_failover_may_have_lost_are_in_doubt() {
    let mut book = book();
    book.note(6, &create(&[1], true), Outcome::Confirmed);
    book.doubt(6, TaskState::Absent);
    assert_eq!(book.certain(6), None);
    assert!(book.settle(6, None).is_ok());
}

#[test]
fn an_answer_of_the_api_is_read() {
    let answer = json!({"task": {
        "enabled": true,
        "condition": {"services": {"names": ["svc-7", "svc-2"]}},
    }});
    assert_eq!(Shown::read(&answer), Some(shown(&[2, 7], true)));
    assert_eq!(Shown::read(&json!({"error": {}})), None);
}
