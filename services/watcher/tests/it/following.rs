//! Messages to a subscriber from a real Consul.

use cts_testkit::{ConsulAgent, eventually};

use crate::DEADLINE;
use crate::rig::{Rig, Update, ids, instances, view};

#[tokio::test]
async fn a_snapshot_and_then_what_changes() {
    let consul = ConsulAgent::start().await;
    let hostile = [("text", "\"a\"\n${x} \u{1f680}")];
    consul
        .register_service("web", "a", 80, &hostile, &["t"])
        .await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&view("web")]);
    let (base, first) = subscriber.delta().await;
    assert_eq!((base, ids(&first)), (None, vec!["a"]));
    let instance = instances(&first)[0];
    let text = instance.meta.get("text").map(String::as_str);
    assert_eq!(text, Some("\"a\"\n${x} \u{1f680}"));

    consul.register_service("web", "b", 81, &[], &[]).await;
    let (base, second) = subscriber.delta().await;
    assert_eq!((base, ids(&second)), (Some(first.revision), vec!["a", "b"]));
    assert!(second.revision > first.revision);

    consul.deregister("a").await;
    let (base, third) = subscriber.delta().await;
    assert_eq!((base, ids(&third)), (Some(second.revision), vec!["b"]));
}

#[tokio::test]
async fn changes_that_a_module_cannot_see_cause_no_delta() {
    let consul = ConsulAgent::start().await;
    let check = serde_json::json!({"Name": "web", "ID": "a",
        "Check": {"CheckID": "c", "TTL": "10m", "Status": "passing"}});
    consul.register(check).await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.follower(&view("web")).await;
    for number in 0..3 {
        let path = format!("/v1/agent/check/pass/c?note=turn-{number}");
        consul.put(&path, "").await;
    }
    consul.register_service("web", "b", 80, &[], &[]).await;
    // A delta caused by the notes would come first, and with one instance.
    let (_, next) = subscriber.delta().await;
    assert_eq!(ids(&next), ["a", "b"]);
}

#[tokio::test]
async fn views_come_and_go_on_one_stream() {
    let consul = ConsulAgent::start().await;
    for name in ["api", "web"] {
        consul.register_service(name, name, 80, &[], &[]).await;
    }
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&view("api"), &view("web")]);
    let mut first = [subscriber.delta().await, subscriber.delta().await].map(|(base, snapshot)| {
        assert_eq!(base, None);
        ids(&snapshot)[0].to_owned()
    });
    first.sort();
    assert_eq!(first, ["api", "web"]);

    subscriber.unsubscribe(&view("api"));
    eventually(DEADLINE, async || match rig.watcher.followed_views() {
        1 => Ok(()),
        count => Err(format!("{count} views are followed")),
    })
    .await;
    consul.register_service("api", "api-2", 80, &[], &[]).await;
    consul.register_service("web", "web-2", 80, &[], &[]).await;
    match subscriber.update().await {
        Update::Delta {
            view_id, snapshot, ..
        } => {
            assert_eq!(view_id, "health.service(web)");
            assert_eq!(ids(&snapshot), ["web", "web-2"]);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_second_subscription_brings_the_full_snapshot_again() {
    let consul = ConsulAgent::start().await;
    consul.register_service("web", "a", 80, &[], &[]).await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.follower(&view("web")).await;
    subscriber.subscribe([&view("web")]);
    let (base, again) = subscriber.delta().await;
    assert_eq!((base, ids(&again)), (None, vec!["a"]));
    assert_eq!(rig.watcher.followed_views(), 1);
    consul.register_service("web", "b", 80, &[], &[]).await;
    let (base, next) = subscriber.delta().await;
    assert_eq!((base, ids(&next)), (Some(again.revision), vec!["a", "b"]));
}

#[tokio::test]
async fn a_change_during_an_outage_arrives_afterwards() {
    let mut consul = ConsulAgent::start().await;
    // Drives the index up, so that the new agent begins far below.
    for number in 0..200 {
        consul.kv_put("counter", number.to_string()).await;
    }
    consul.register_service("web", "old", 80, &[], &[]).await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.follower(&view("web")).await;
    consul.kill().await;
    match subscriber.update().await {
        Update::Failure(failure) => {
            assert_eq!(failure.view_id, "health.service(web)");
            assert_eq!(failure.failures, 1);
            assert!(failure.message.contains("cannot reach consul"));
            assert!(failure.retry_after.is_some());
        }
        other => panic!("{other:?}"),
    }
    consul.restart().await;
    consul.register_service("web", "new", 80, &[], &[]).await;
    eventually(DEADLINE, async || match subscriber.update().await {
        Update::Delta { snapshot, .. } if ids(&snapshot) == ["new"] => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}
