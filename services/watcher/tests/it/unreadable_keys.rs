//! Keys whose values cannot be passed on.

use cts_core::{Item, ItemKey, KvQuery, View, ViewSnapshot};
use cts_testkit::ConsulAgent;

use crate::rig::Rig;

fn keys(path: &str, recurse: bool) -> View {
    View::ConsulKv(KvQuery {
        path: path.to_owned(),
        recurse,
        ..KvQuery::default()
    })
}

/// Keys with their values, and without one where it cannot be passed on.
fn shown(snapshot: &ViewSnapshot) -> Vec<(&str, Option<&str>)> {
    let shown = snapshot.items.iter().map(|(key, item)| match (key, item) {
        (ItemKey::Name(key), Item::Key(pair)) => (key.as_str(), Some(pair.value.as_str())),
        (ItemKey::Name(key), Item::UnreadableKey(_)) => (key.as_str(), None),
        other => panic!("no key but {other:?}"),
    });
    shown.collect()
}

#[tokio::test]
async fn a_key_that_is_watched_alone_is_shown_without_a_value() {
    let consul = ConsulAgent::start().await;
    consul.kv_put("odd", vec![0xff]).await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.follower(&keys("odd", false)).await;
    let view = keys("odd", false).id();
    let snapshot = subscriber.snapshot(view.as_str()).unwrap();
    assert_eq!(shown(snapshot), [("odd", None)]);
    consul.kv_put("odd", "x").await;
    assert_eq!(shown(&subscriber.delta().await.1), [("odd", Some("x"))]);
}

#[tokio::test]
async fn thousands_of_unreadable_keys_arrive() {
    let consul = ConsulAgent::start().await;
    for part in 0..50_u32 {
        let of_part = (0..64).map(|number| {
            let key = format!("a/{part}-{number}-{}", "x".repeat(400));
            serde_json::json!({"KV": {"Verb": "set", "Key": key, "Value": "/w=="}})
        });
        let body = serde_json::Value::Array(of_part.collect()).to_string();
        consul.put("/v1/txn", body).await;
    }
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&keys("a/", true)]);
    let (_, snapshot) = subscriber.delta().await;
    let shown = shown(&snapshot);
    assert_eq!(shown.len(), 3200);
    assert!(shown.iter().all(|(_key, value)| value.is_none()));
}
