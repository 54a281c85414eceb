use super::*;

fn instance(id: &str, port: u16) -> ServiceInstance {
    ServiceInstance {
        id: id.into(),
        name: "web".into(),
        kind: String::new(),
        address: "10.0.0.1".into(),
        port,
        meta: BTreeMap::new(),
        tags: Vec::new(),
        namespace: String::new(),
        status: cts_core::HealthStatus::Passing,
        node: "n".into(),
        node_id: String::new(),
        node_address: "10.0.0.1".into(),
        node_datacenter: "dc1".into(),
        node_tagged_addresses: BTreeMap::new(),
        node_meta: BTreeMap::new(),
    }
}

fn snapshot(index: u64, instances: Vec<ServiceInstance>) -> PollEvent {
    PollEvent::Snapshot { index, instances }
}

fn failure(failures: u32) -> PollEvent {
    PollEvent::Failure {
        error: ConsulError::MissingIndex,
        failures,
        retry_after: Duration::from_secs(1),
    }
}

fn publisher() -> (Publisher, watch::Receiver<ViewState>) {
    let (sender, receiver) = watch::channel(ViewState::default());
    (
        Publisher::new(ViewId::new("v"), sender, Arc::default()),
        receiver,
    )
}

#[test]
fn equal_data_under_a_new_index_is_no_change() {
    let (publisher, mut state) = publisher();
    publisher.publish(snapshot(5, vec![instance("a", 1), instance("b", 2)]));
    let first = state.borrow_and_update().snapshot.clone().unwrap();
    publisher.publish(snapshot(6, vec![instance("b", 2), instance("a", 1)]));
    assert!(!state.has_changed().unwrap());
    publisher.publish(snapshot(7, vec![instance("a", 1), instance("b", 3)]));
    assert!(state.has_changed().unwrap());
    let second = state.borrow_and_update().snapshot.clone().unwrap();
    assert!(second.revision > first.revision);
    let key = instance("a", 1).key();
    assert!(Arc::ptr_eq(&first.instances[&key], &second.instances[&key]));
}

#[test]
fn an_empty_first_answer_is_a_snapshot() {
    let (publisher, state) = publisher();
    publisher.publish(snapshot(1, vec![]));
    assert!(state.borrow().snapshot.is_some());
}

#[test]
fn a_failure_keeps_the_snapshot_and_ends_with_the_next_answer() {
    let (publisher, mut state) = publisher();
    publisher.publish(snapshot(5, vec![instance("a", 1)]));
    publisher.publish(failure(1));
    let failed = state.borrow_and_update().clone();
    assert!(failed.snapshot.is_some());
    assert_eq!(failed.failure.unwrap().failures, 1);
    publisher.publish(snapshot(1, vec![instance("a", 1)]));
    assert!(state.has_changed().unwrap());
    let recovered = state.borrow_and_update().clone();
    assert!(recovered.failure.is_none());
    assert!(Arc::ptr_eq(
        &recovered.snapshot.unwrap(),
        &failed.snapshot.unwrap()
    ));
}
