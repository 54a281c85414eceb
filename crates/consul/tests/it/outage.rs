//! Behaviour after the end of an outage.

use std::collections::BTreeMap;
use std::time::Duration;

use cts_consul::{ConsulClient, PollEvent, Query, QueryPool, ReadRequests};
use cts_testkit::{ConsulAgent, Link, TcpProxy};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::{DEADLINE, settings, view};

const VIEWS: usize = 60;
/// Long enough that most pauses between two tries are longer than what is allowed after it.
const OUTAGE: Duration = Duration::from_secs(17);
/// Between the first that is back and the last: the second over which they are spread, and a busy machine.
const ALL_BACK: Duration = Duration::from_secs(3);

fn name(number: usize) -> String {
    format!("service-{number}")
}

#[tokio::test]
async fn all_views_are_back_soon_after_the_first_of_them() {
    let consul = ConsulAgent::start().await;
    for number in 0..VIEWS {
        let registration = json!({
            "Node": "n", "Address": "10.0.0.1",
            "Service": {"ID": name(number), "Service": name(number), "Port": 80},
        });
        let registration = registration.to_string();
        consul.put("/v1/catalog/register", registration).await;
    }
    let proxy = TcpProxy::start(consul.address().parse().unwrap()).await;
    let client = ConsulClient::new(&settings(&proxy.address().to_string())).unwrap();
    let followers = QueryPool::new(client);
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    for number in 0..VIEWS {
        let (followers, sender) = (followers.clone(), sender.clone());
        tasks.spawn(async move {
            let report = |event| drop(sender.send((number, event)));
            let query = Query::health(view(&name(number)));
            match followers
                .follow(&query, &ReadRequests::default(), report)
                .await {}
        });
    }
    let mut first_answers = 0;
    while first_answers < VIEWS {
        match timeout(DEADLINE, events.recv()).await.unwrap().unwrap() {
            (_, PollEvent::Snapshot { .. }) => first_answers += 1,
            (number, PollEvent::Failure { error, .. }) => panic!("{number}: {}", error.report()),
            (_, PollEvent::Read { .. }) => panic!("nothing was requested"),
        }
    }

    proxy.set_link(Link::Answer(503, "no healthy upstream"));
    let begun = Instant::now();
    let mut failed: BTreeMap<usize, Duration> = BTreeMap::new();
    while let Ok(event) = timeout(OUTAGE.saturating_sub(begun.elapsed()), events.recv()).await {
        if let (number, PollEvent::Failure { retry_after, .. }) = event.unwrap() {
            failed.insert(number, retry_after);
        }
    }
    assert_eq!(failed.len(), VIEWS);
    let long = failed.values().filter(|pause| **pause > 2 * ALL_BACK);
    assert!(long.count() > VIEWS / 2, "the outage is too short");
    proxy.set_link(Link::Open);
    let mut back: BTreeMap<usize, Instant> = BTreeMap::new();
    while back.len() < VIEWS {
        let event = timeout(DEADLINE, events.recv()).await.unwrap().unwrap();
        if let (number, PollEvent::Snapshot { .. }) = event {
            back.entry(number).or_insert_with(Instant::now);
        }
    }
    let (first, last) = (back.values().min().unwrap(), back.values().max().unwrap());
    assert!(
        *last - *first < ALL_BACK,
        "the last is back {:?} after the first",
        *last - *first
    );
}
