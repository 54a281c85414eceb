//! Several subscribers.

use std::time::Duration;

use cts_proto::watch::v1::ViewDelta;
use cts_proto::watch::v1::watch_response::Event;
use cts_testkit::{ConsulAgent, eventually};
use serde_json::json;
use wiremock::matchers::{query_param, query_param_is_missing};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::DEADLINE;
use crate::rig::{Rig, Update, ids, view};

#[tokio::test]
async fn one_poller_serves_all_subscribers() {
    let server = MockServer::start().await;
    let answer = || {
        ResponseTemplate::new(200)
            .insert_header("x-consul-index", "5")
            .set_body_json(json!([]))
    };
    Mock::given(query_param_is_missing("index"))
        .respond_with(answer())
        .mount(&server)
        .await;
    Mock::given(query_param("index", "5"))
        .respond_with(answer().set_delay(Duration::from_mins(5)))
        .mount(&server)
        .await;
    let rig = Rig::start(&server.uri());
    let mut subscribers = Vec::new();
    for _ in 0..5 {
        subscribers.push(rig.follower(&view("web")).await);
    }
    eventually(DEADLINE, async || match server.received_requests().await {
        Some(requests) if requests.len() == 2 => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    // Another view has a poller of its own, so a superfluous one would have shown itself by now.
    subscribers.push(rig.follower(&view("api")).await);
    let requests = server.received_requests().await.unwrap();
    let of_web = requests.iter().filter(|r| r.url.path().ends_with("/web"));
    assert_eq!(of_web.count(), 2);
    assert_eq!(rig.watcher.followed_views(), 2);
}

#[tokio::test]
async fn returning_subscriber_finds_the_view_there() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200)
        .insert_header("x-consul-index", "5")
        .set_body_json(json!([]));
    let held = answer.clone().set_delay(Duration::from_mins(5));
    for (when, answer) in [(false, answer), (true, held)] {
        let mock = if when {
            Mock::given(query_param("index", "5"))
        } else {
            Mock::given(query_param_is_missing("index"))
        };
        mock.respond_with(answer).mount(&server).await;
    }
    let mut rig = Rig::lingering(&server.uri(), Duration::from_mins(10));
    for _ in 0..3 {
        drop(rig.follower(&view("web")).await);
    }
    eventually(DEADLINE, async || match server.received_requests().await {
        Some(requests) if requests.len() == 2 => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
    // Lingering views do not hold up the end.
    rig.stop.cancel();
    let ended = tokio::time::timeout(DEADLINE, rig.running.join_next()).await;
    assert!(ended.unwrap().is_some());
}

#[tokio::test]
async fn the_view_ends_with_its_last_subscriber() {
    let consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let first = rig.follower(&view("web")).await;
    let mut second = rig.follower(&view("web")).await;
    drop(first);
    consul.register_service("web", "a", 80, &[], &[]).await;
    assert_eq!(ids(&second.delta().await.1), ["a"]);
    assert_eq!(rig.watcher.followed_views(), 1);
    drop(second);
    eventually(DEADLINE, async || match rig.watcher.followed_views() {
        0 => Ok(()),
        count => Err(format!("{count} views are followed")),
    })
    .await;
    // A later subscriber starts from the present state.
    consul.register_service("web", "b", 80, &[], &[]).await;
    let mut third = rig.subscriber().await;
    third.subscribe([&view("web")]);
    assert_eq!(ids(&third.delta().await.1), ["a", "b"]);
}

/// Registers more than all buffers between watcher and subscriber hold.
async fn register_much(consul: &ConsulAgent) {
    let value = "x".repeat(512);
    let keys: Vec<_> = (0..64).map(|number| format!("key-{number}")).collect();
    let meta: Vec<_> = keys
        .iter()
        .map(|key| (key.as_str(), value.as_str()))
        .collect();
    for number in 0..160 {
        consul
            .register_service("web", &format!("big-{number}"), 80, &meta, &[])
            .await;
    }
}

#[tokio::test]
async fn messages_carry_the_id_of_their_subscription_and_their_number() {
    let consul = ConsulAgent::start().await;
    register_much(&consul).await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe_as(7, [&view("web")]);
    let first = numbered(&mut subscriber).await;
    assert_eq!((first.subscription_id, first.part_number), (7, 1));
    // Messages under way for the older snapshot must not be taken for a part of the newer one.
    subscriber.subscribe_as(8, [&view("web")]);
    let mut expected = 2;
    let newer = loop {
        let part = numbered(&mut subscriber).await;
        if part.subscription_id == 8 {
            break part;
        }
        assert_eq!((part.subscription_id, part.part_number), (7, expected));
        expected += 1;
    };
    assert_eq!((newer.part_number, newer.base_revision), (1, None));
    assert!(expected > 2, "the older one was under way");
    assert!(!newer.complete);
    assert_eq!(numbered(&mut subscriber).await.part_number, 2);
}

async fn numbered(subscriber: &mut crate::rig::Subscriber) -> ViewDelta {
    match subscriber.message().await.unwrap() {
        Event::Delta(part) => part,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_slow_subscriber_gets_one_larger_delta() {
    let consul = ConsulAgent::start().await;
    register_much(&consul).await;
    let rig = Rig::start(&consul.address());
    let mut fast = rig.follower(&view("web")).await;
    let mut slow = rig.subscriber().await;
    slow.subscribe([&view("web")]);
    // The first part of the snapshot; then the subscriber stops reading.
    assert!(slow.receive().await.unwrap().is_none());

    for number in 0..4 {
        consul
            .register_service("web", &format!("small-{number}"), 80, &[], &[])
            .await;
        assert_eq!(fast.delta().await.1.items.len(), 161 + number);
    }
    let (base, snapshot) = slow.delta().await;
    assert_eq!((base, snapshot.items.len()), (None, 160));
    match slow.update().await {
        Update::Delta {
            base,
            snapshot: newest,
            ..
        } => {
            assert_eq!(base, Some(snapshot.revision));
            assert_eq!(newest.items.len(), 164);
        }
        other => panic!("{other:?}"),
    }
}
