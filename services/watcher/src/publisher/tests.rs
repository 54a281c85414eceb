use std::sync::Arc;

use cts_core::ServiceInstance;
use cts_runtime::SystemClock;
use cts_testkit::fixtures;
use tokio::sync::watch;

use super::*;
use crate::change_traces::ChangeTraces;

fn instance(id: &str, port: i64) -> ServiceInstance {
    fixtures::instance("web", id, port)
}

fn snapshot(index: u64, instances: Vec<ServiceInstance>) -> PollEvent {
    PollEvent::Snapshot {
        index,
        filtered: false,
        items: instances.into_iter().map(Item::from).collect(),
        unreadable: Vec::new(),
    }
}

fn failure(failures: u32) -> PollEvent {
    PollEvent::Failure {
        error: ConsulError::TooLong { limit: 1 },
        failures,
        failing_for: Duration::ZERO,
        retry_after: Duration::from_secs(1),
    }
}

fn outage() -> Arc<ConsulOutage> {
    Arc::new(ConsulOutage::new("consul:8500", Arc::new(SystemClock)))
}

fn publisher() -> (Publisher, watch::Receiver<ViewState>) {
    let (sender, receiver) =
        StateSender::new(ViewId::new("v"), Arc::default(), ChangeTraces::off());
    let publisher = Publisher::new(ViewId::new("v"), sender, outage());
    (publisher, receiver)
}

#[test]
fn equal_data_under_a_new_index_is_no_change() {
    let (mut publisher, mut state) = publisher();
    publisher.publish(
        snapshot(5, vec![instance("a", 1), instance("b", 2)]),
        Instant::now(),
    );
    let first = state.borrow_and_update().snapshot.clone().unwrap();
    publisher.publish(
        snapshot(6, vec![instance("b", 2), instance("a", 1)]),
        Instant::now(),
    );
    assert!(!state.has_changed().unwrap());
    publisher.publish(
        snapshot(7, vec![instance("a", 1), instance("b", 3)]),
        Instant::now(),
    );
    assert!(state.has_changed().unwrap());
    let second = state.borrow_and_update().snapshot.clone().unwrap();
    assert!(second.revision > first.revision);
    let key = ItemKey::Instance(instance("a", 1).key());
    let (Item::Instance(first), Item::Instance(second)) = (&first.items[&key], &second.items[&key])
    else {
        panic!("no instances: {first:?}, {second:?}");
    };
    assert!(Arc::ptr_eq(first, second));
}

#[test]
fn an_empty_first_answer_is_a_snapshot() {
    let (mut publisher, state) = publisher();
    publisher.publish(snapshot(1, vec![]), Instant::now());
    assert!(state.borrow().snapshot.is_some());
}

#[test]
fn a_failure_keeps_the_snapshot_and_ends_with_the_next_answer() {
    let (mut publisher, mut state) = publisher();
    publisher.publish(snapshot(5, vec![instance("a", 1)]), Instant::now());
    publisher.publish(failure(1), Instant::now());
    let failed = state.borrow_and_update().clone();
    assert!(failed.snapshot.is_some());
    assert_eq!(failed.failure.unwrap().failures, 1);
    publisher.publish(snapshot(1, vec![instance("a", 1)]), Instant::now());
    assert!(state.has_changed().unwrap());
    let recovered = state.borrow_and_update().clone();
    assert!(recovered.failure.is_none());
    assert!(Arc::ptr_eq(
        &recovered.snapshot.unwrap(),
        &failed.snapshot.unwrap()
    ));
}

#[test]
fn an_instance_that_cannot_be_understood_keeps_its_last_form_while_it_is_there() {
    let (mut publisher, state) = publisher();
    let odd = |id: &str| UnreadableInstance {
        key: Some(instance(id, 0).key()),
        problem: "odd".into(),
    };
    let seen = |instances: Vec<ServiceInstance>, unreadable| PollEvent::Snapshot {
        index: 1,
        filtered: false,
        items: instances.into_iter().map(Item::from).collect(),
        unreadable,
    };
    let ports = |state: &watch::Receiver<ViewState>| -> Vec<(String, i64)> {
        let snapshot = state.borrow().snapshot.clone().unwrap();
        let instances = snapshot.items.values().map(|item| match item {
            Item::Instance(instance) => (instance.id.clone(), instance.port),
            other => panic!("no instance but {other:?}"),
        });
        instances.collect()
    };
    publisher.publish(seen(vec![instance("a", 1)], vec![odd("b")]), Instant::now());
    assert_eq!(ports(&state), [("a".into(), 1)], "nothing is known of b");
    publisher.publish(
        seen(vec![instance("a", 1), instance("b", 2)], vec![]),
        Instant::now(),
    );
    publisher.publish(seen(vec![instance("a", 3)], vec![odd("b")]), Instant::now());
    let kept = [("a".into(), 3), ("b".into(), 2)];
    assert_eq!(ports(&state), kept, "the rest of the view goes on");
    publisher.publish(seen(vec![instance("a", 3)], vec![]), Instant::now());
    assert_eq!(ports(&state), [("a".into(), 3)], "it is deregistered");
}

#[test]
fn a_failure_knows_since_when_and_how_long_ago_consul_answered() {
    let (mut publisher, mut state) = publisher();
    let begin = Instant::now();
    let second = |n| begin + Duration::from_secs(n);
    publisher.publish(snapshot(5, vec![]), begin);
    publisher.publish(snapshot(6, vec![]), second(3));
    state.mark_unchanged();
    publisher.publish(snapshot(7, vec![]), second(4));
    assert!(!state.has_changed().unwrap(), "no subscriber is woken");
    publisher.publish(failure(1), second(10));
    publisher.publish(failure(2), second(12));
    let failed = state.borrow().clone();
    let failure = failed.failure.unwrap();
    assert_eq!(failed.answered, Some(second(4)));
    assert_eq!((failure.since, failure.next_try), (second(10), second(13)));
    publisher.publish(snapshot(8, vec![]), second(14));
    assert!(state.borrow().failure.is_none());
    assert_eq!(state.borrow().answered, Some(second(14)));
}

#[test]
fn failure_message_of_consul_is_one_short_line() {
    let (mut publisher, state) = publisher();
    let hostile = PollEvent::Failure {
        error: ConsulError::Status {
            status: 500,
            body: "x\n[ERROR] fake\u{202e}".repeat(500),
        },
        failures: 1,
        failing_for: Duration::ZERO,
        retry_after: Duration::from_secs(1),
    };
    publisher.publish(hostile, Instant::now());
    let message = state.borrow().failure.clone().unwrap().message.clone();
    assert!(message.chars().count() <= MESSAGE_SHOWN + 10, "{message}");
    assert!(!message.contains(['\n', '\u{202e}']), "{message}");
}

/// An answer with these instances; if `filtered`, they may not be all.
fn answer(ids: &[&str], filtered: bool) -> PollEvent {
    PollEvent::Snapshot {
        index: 1,
        filtered,
        items: ids.iter().map(|id| instance(id, 1).into()).collect(),
        unreadable: Vec::new(),
    }
}

#[test]
fn instances_that_the_token_no_longer_reads_stay_if_so_configured() {
    let (publisher, state) = publisher();
    let mut publisher = publisher.holding_filtered(true);
    let mut shown = |ids: &[&str], filtered| {
        publisher.publish(answer(ids, filtered), Instant::now());
        let state = state.borrow().clone();
        let count = state.snapshot.map_or(0, |snapshot| snapshot.items.len());
        (count, state.failure.map(|failure| failure.failures))
    };
    assert_eq!(shown(&["a", "b"], false), (2, None));
    assert_eq!(shown(&["a"], true), (2, Some(1)));
    assert_eq!(shown(&[], true), (2, Some(2)));
    assert_eq!(
        shown(&["a", "b", "c"], true),
        (3, None),
        "it shows all again"
    );
    assert_eq!(
        shown(&["a", "b"], true),
        (2, None),
        "a token with few rights, and one was deregistered"
    );
    assert_eq!(shown(&["a", "b"], false), (2, None));
    assert_eq!(shown(&["a"], false), (1, None));
    assert_eq!(shown(&[], true), (1, Some(1)));
    assert_eq!(shown(&[], false), (0, None), "that is all that there is");
}

#[test]
fn a_view_whose_connection_was_cut_has_failed_since_then() {
    let (mut publisher, state) = publisher();
    let now = Instant::now() + Duration::from_mins(1);
    for (failures, failing_for) in [(1, 3), (2, 0)] {
        let failure = PollEvent::Failure {
            error: ConsulError::NoLeader,
            failures,
            failing_for: Duration::from_secs(failing_for),
            retry_after: Duration::from_secs(1),
        };
        publisher.publish(failure, now);
        let since = state.borrow().failure.clone().unwrap().since;
        assert_eq!(since, now - Duration::from_secs(3));
    }
}

#[test]
fn a_long_outage_is_noticed_once() {
    let outage = outage();
    let begin = Instant::now();
    let mut views = ["a", "b"].map(|id| {
        let (state, _) = StateSender::new(ViewId::new("v"), Arc::default(), ChangeTraces::off());
        Publisher::new(ViewId::new(id), state, Arc::clone(&outage))
    });
    let mut noticed = |view: usize, minutes, event| {
        views[view].publish(event, begin + Duration::from_mins(minutes));
        (views[view].in_outage, outage.is_known_to_be_long())
    };
    let failure = || PollEvent::Failure {
        error: ConsulError::NoLeader,
        failures: 1,
        failing_for: Duration::ZERO,
        retry_after: Duration::from_secs(1),
    };
    assert_eq!(noticed(0, 0, failure()), (false, false));
    assert_eq!(noticed(1, 5, failure()), (false, false));
    assert_eq!(noticed(0, 10, failure()), (true, true));
    assert_eq!(noticed(1, 15, failure()), (true, true), "it is known");
    assert_eq!(noticed(1, 16, snapshot(1, vec![])), (false, false));
    assert_eq!(
        noticed(0, 17, failure()),
        (true, false),
        "once for each row of failures"
    );
    assert_eq!(noticed(0, 18, snapshot(1, vec![])), (false, false));
    assert_eq!(noticed(0, 20, failure()), (false, false), "another outage");
    assert_eq!(noticed(0, 30, failure()), (true, true));
}

#[test]
fn an_outage_of_many_views_is_over_with_the_last_of_them() {
    let outage = outage();
    let mut views = ["a", "b", "c"].map(|id| {
        let (state, _) = StateSender::new(ViewId::new("v"), Arc::default(), ChangeTraces::off());
        Some(Publisher::new(ViewId::new(id), state, Arc::clone(&outage)))
    });
    let mut is_on_after = |view: usize, event| {
        let publisher = views[view].as_mut().unwrap();
        match event {
            Some(event) => publisher.publish(event, Instant::now()),
            None => drop(views[view].take()),
        }
        outage.is_on()
    };
    let unreachable = || {
        Some(PollEvent::Failure {
            error: ConsulError::NoLeader,
            failures: 1,
            failing_for: Duration::ZERO,
            retry_after: Duration::from_secs(1),
        })
    };
    assert!(
        !is_on_after(0, Some(failure(1))),
        "a failure of this view alone"
    );
    for view in 0..3 {
        assert!(is_on_after(view, unreachable()));
    }
    assert!(is_on_after(0, Some(snapshot(1, vec![]))));
    assert!(
        is_on_after(1, Some(failure(2))),
        "Consul has answered this view"
    );
    assert!(!is_on_after(2, None), "the last view is no longer followed");
    assert!(is_on_after(0, unreachable()), "another outage");
    assert!(!is_on_after(0, Some(snapshot(2, vec![]))));
}

#[test]
fn a_token_that_loses_rights_is_noticed_when_data_vanish() {
    let (mut publisher, _state) = publisher();
    let mut lost = |ids: &[&str], filtered| {
        publisher.publish(answer(ids, filtered), Instant::now());
        publisher.lost_rights
    };
    assert!(!lost(&["a", "b"], true), "it was so from the beginning");
    assert!(!lost(&["a", "b", "c"], true));
    assert!(!lost(&["a", "b"], false), "one was deregistered");
    assert!(lost(&["a"], true));
    assert!(lost(&["a", "b"], true), "it is said once");
    assert!(!lost(&["a", "b"], false));
}
