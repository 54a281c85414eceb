//! Consul 1.10 and newer, which answer blocking health queries from streaming.

use std::collections::BTreeMap;

use cts_consul::{ConsulClient, PollEvent, Query, QueryPool, ReadRequests};
use cts_core::Item;
use cts_testkit::StreamingConsul;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::{DEADLINE, settings, view};

const SERVICES: usize = 50;
const ROUNDS: u16 = 20;

fn name(number: usize) -> String {
    format!("service-{number}")
}

#[tokio::test]
async fn a_thousand_changes_arrive_through_streaming() {
    let consul = StreamingConsul::start().await;
    let client = ConsulClient::new(&settings(&consul.address())).unwrap();
    let followers = QueryPool::new(client);
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    for number in 0..SERVICES {
        let (followers, sender) = (followers.clone(), sender.clone());
        tasks.spawn(async move {
            let report = |event| drop(sender.send((number, event)));
            let query = Query::health(view(&name(number)));
            match followers
                .follow(&query, &ReadRequests::default(), report)
                .await {}
        });
    }
    let mut ports: BTreeMap<usize, i64> = BTreeMap::new();
    let mut changes = 0;
    for round in 0..=ROUNDS {
        if round > 0 {
            (0..SERVICES).for_each(|number| consul.register(&name(number), round));
        }
        while ports.len() < SERVICES || ports.values().any(|port| *port != i64::from(round)) {
            let event = timeout(DEADLINE, events.recv()).await;
            match event.expect("a change does not arrive").unwrap() {
                (number, PollEvent::Snapshot { items, .. }) => {
                    let port = match &items[..] {
                        [] => 0,
                        [Item::Instance(instance)] => instance.port,
                        other => panic!("{other:?}"),
                    };
                    changes += u32::from(ports.insert(number, port) != Some(port));
                }
                (number, PollEvent::Failure { error, .. }) => {
                    panic!("{number}: {}", error.report())
                }
                (_, PollEvent::Read { .. }) => panic!("nothing was requested"),
            }
        }
    }
    // The first answers are no changes.
    assert_eq!(changes - 50, 1000);
    assert!(consul.streamed() >= 1000);
}
