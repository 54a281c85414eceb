//! Reads that a subscriber requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cts_core::{CatalogServicesView, Item, KeyValue, KvQuery, ServicesView, View};
use cts_testkit::ConsulAgent;
use serde_json::json;
use tokio::time::Instant;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::rig::{Rig, Subscriber, Update, ids, view};

fn key(path: &str) -> View {
    View::ConsulKv(KvQuery {
        path: path.to_owned(),
        ..KvQuery::default()
    })
}

fn value(number: usize) -> Item {
    Item::from(KeyValue {
        key: "a".into(),
        value: number.to_string(),
    })
}

fn matching(regexp: &str) -> View {
    View::Services(ServicesView {
        regexp: regexp.to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: String::new(),
    })
}

/// The next mark of a view. All deltas before it are in the snapshots.
async fn mark(subscriber: &mut Subscriber) -> (String, u64) {
    loop {
        match subscriber.update().await {
            Update::Read(read) => return (read.view_id, read.mark),
            Update::Delta { .. } => {}
            Update::Failure(failure) => panic!("{failure:?}"),
        }
    }
}

#[tokio::test]
async fn a_view_has_all_that_was_written_before_the_request_when_its_mark_comes() {
    let consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let views = [view("web"), key("a"), matching("^web")];
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe(&views);
    for _ in &views {
        subscriber.delta().await;
    }
    for number in 1..=12_usize {
        let id = format!("web-{number}");
        consul.register_service("web", &id, 80, &[], &[]).await;
        let other = format!("web-of-{number}");
        consul.register_service(&other, &other, 80, &[], &[]).await;
        consul.kv_put("a", number.to_string()).await;
        let asked = u64::try_from(number).unwrap();
        subscriber.read(asked, &views);
        for _ in &views {
            let (of, mark) = mark(&mut subscriber).await;
            assert_eq!(mark, asked);
            let snapshot = subscriber.snapshot(&of).unwrap();
            match views.iter().position(|view| view.id().as_str() == of) {
                Some(0) => assert_eq!(snapshot.items.len(), number),
                Some(1) => assert_eq!(snapshot.items.values().next(), Some(&value(number))),
                _all => assert_eq!(ids(snapshot).len(), 2 * number),
            }
        }
    }
}

#[tokio::test]
async fn names_that_match_are_read_on_request_too() {
    let consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let names = View::CatalogServices(CatalogServicesView {
        regexp: "^web".into(),
        ..CatalogServicesView::default()
    });
    let mut subscriber = rig.follower(&names).await;
    for number in 1..=5_usize {
        let name = format!("web-{number}");
        consul.register_service(&name, &name, 80, &[], &[]).await;
        subscriber.read(7, [&names]);
        let (of, _mark) = mark(&mut subscriber).await;
        assert_eq!(subscriber.snapshot(&of).unwrap().items.len(), number);
    }
}

/// Holds queries with an index for ever, and counts the others, which it answers.
struct Reads(Arc<AtomicUsize>);

impl Respond for Reads {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        if request.url.query_pairs().any(|(key, _)| key == "index") {
            return ResponseTemplate::new(500).set_delay(Duration::from_mins(5));
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        ResponseTemplate::new(200)
            .insert_header("x-consul-index", "7")
            .set_body_json(json!([]))
    }
}

#[tokio::test]
async fn requests_that_come_together_share_reads_which_keep_apart() {
    const REQUESTS: usize = 30;
    let server = MockServer::start().await;
    let reads = Arc::new(AtomicUsize::new(0));
    let answers = Reads(Arc::clone(&reads));
    Mock::given(any())
        .respond_with(answers)
        .mount(&server)
        .await;
    let rig = Rig::start(&server.uri());
    let mut subscriber = rig.follower(&view("web")).await;
    let (before, begun) = (reads.load(Ordering::SeqCst), Instant::now());
    for mark in 1..=REQUESTS as u64 {
        subscriber.read(mark, [&view("web")]);
    }
    // The query that Consul holds is never answered.
    while mark(&mut subscriber).await.1 < REQUESTS as u64 {}
    let count = reads.load(Ordering::SeqCst) - before;
    let intervals = begun.elapsed().as_millis() / 20;
    assert!((1..REQUESTS / 2).contains(&count), "{count}");
    assert!(count as u128 <= intervals + 1, "{count} in {intervals}");
}

#[tokio::test]
async fn a_request_for_a_view_that_fails_is_answered_when_consul_answers() {
    let mut consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.follower(&view("web")).await;
    consul.kill().await;
    assert!(matches!(subscriber.update().await, Update::Failure(_)));
    subscriber.read(3, [&view("web"), &view("not-followed")]);
    consul.restart().await;
    loop {
        match subscriber.update().await {
            Update::Read(read) => break assert_eq!(read.mark, 3),
            Update::Failure(_) | Update::Delta { .. } => {}
        }
    }
}
