//! Keys and names of the catalog, from the real Consul.

use cts_consul::{ConsulError, Query};
use cts_core::{CatalogService, CatalogServicesView, Item, KeyValue, KvQuery};
use cts_testkit::ConsulAgent;
use serde_json::json;

use crate::{Poll, client};

fn key(path: &str, recurse: bool) -> Query {
    Query::Kv(KvQuery {
        path: path.to_owned(),
        recurse,
        ..KvQuery::default()
    })
}

fn pairs(items: &[Item]) -> Vec<(&str, &str)> {
    let pairs = items.iter().map(|item| match item {
        Item::Key(pair) => {
            let KeyValue { key, value } = &**pair;
            (key.as_str(), value.as_str())
        }
        other => panic!("no key but {other:?}"),
    });
    pairs.collect()
}

#[tokio::test]
async fn a_key_comes_changes_and_goes() {
    let consul = ConsulAgent::start().await;
    let mut poll = Poll::follow(client(&consul.address()), key("limits/cart", false));
    assert_eq!(pairs(&poll.items().await), [], "a missing key is an answer");
    consul.kv_put("limits/cart", "40").await;
    assert_eq!(pairs(&poll.items().await), [("limits/cart", "40")]);
    consul.kv_put("limits/cart", "").await;
    assert_eq!(pairs(&poll.items().await), [("limits/cart", "")]);
    consul.kv_delete("limits/cart").await;
    assert_eq!(pairs(&poll.items().await), []);
}

#[tokio::test]
async fn a_prefix_is_any_beginning_of_a_key() {
    let consul = ConsulAgent::start().await;
    for (path, value) in [("a/b", "1"), ("a/b/c", "2"), ("a/bc", "3"), ("a/c", "4")] {
        consul.kv_put(path, value).await;
    }
    consul.kv_put("odd%20%C3%A9%3F/x", "${a}\n\"q\"").await;
    let mut poll = Poll::follow(client(&consul.address()), key("a/b", true));
    let expected = [("a/b", "1"), ("a/b/c", "2"), ("a/bc", "3")];
    assert_eq!(pairs(&poll.items().await), expected);
    let client = client(&consul.address());
    let odd = client.read(&key("odd é?/", true), 0).await.unwrap();
    assert_eq!(pairs(&odd.items), [("odd é?/x", "${a}\n\"q\"")]);
    let all = client.read(&key("", true), 0).await.unwrap();
    assert_eq!(all.items.len(), 5);
    let none = client.read(&key("z", true), 0).await.unwrap();
    assert!(none.items.is_empty() && none.index > Some(0));
}

/// How each key is shown: with its value, or without one that can be read.
fn shown(items: &[Item]) -> Vec<(String, Option<&str>)> {
    let shown = items.iter().map(|item| match item {
        Item::Key(pair) => (pair.key.clone(), Some(pair.value.as_str())),
        Item::UnreadableKey(key) => (key.to_string(), None),
        other => panic!("no key but {other:?}"),
    });
    shown.collect()
}

#[tokio::test]
async fn a_value_that_is_no_text_hides_no_other_key() {
    let consul = ConsulAgent::start().await;
    consul.kv_put("a/good", "x").await;
    consul.kv_put("a/odd", vec![0xff, 0]).await;
    let of = |good: Option<&'static str>, odd| {
        let keys = [("a/good".to_owned(), good), ("a/odd".to_owned(), odd)];
        keys.to_vec()
    };
    let mut poll = Poll::follow(client(&consul.address()), key("a/", true));
    assert_eq!(shown(&poll.items().await), of(Some("x"), None));
    consul.kv_put("a/good", "y").await;
    assert_eq!(shown(&poll.items().await), of(Some("y"), None));
    consul.kv_put("a/odd", "z").await;
    assert_eq!(shown(&poll.items().await), of(Some("y"), Some("z")));
    consul.kv_put("a/odd", vec![0xc3]).await;
    assert_eq!(shown(&poll.items().await), of(Some("y"), None));
    let single = client(&consul.address())
        .read(&key("a/odd", false), 0)
        .await;
    let single = single.unwrap().items;
    assert_eq!(shown(&single), [("a/odd".to_owned(), None)]);
    consul.kv_delete("a/odd").await;
    assert_eq!(pairs(&poll.items().await), [("a/good", "y")]);
}

/// Consul writes its answers as JSON, which has no bytes.
#[tokio::test]
async fn a_name_that_is_no_text_arrives_with_replacement_characters() {
    let consul = ConsulAgent::start().await;
    consul.kv_put("a/%ff", "x").await;
    let read = client(&consul.address()).read(&key("a/", true), 0).await;
    assert_eq!(pairs(&read.unwrap().items), [("a/\u{fffd}", "x")]);
}

#[tokio::test]
async fn a_key_that_consul_cannot_be_asked_for_is_refused() {
    let consul = ConsulAgent::start().await;
    let error = client(&consul.address())
        .read(&key("a/../b", false), 0)
        .await
        .unwrap_err();
    assert!(matches!(error, ConsulError::UnusableName { .. }), "{error}");
    assert!(error.is_rejection());
}

#[tokio::test]
async fn names_come_with_their_tags_and_only_from_nodes_with_the_meta_data() {
    let consul = ConsulAgent::start().await;
    for (id, tags) in [("a", ["v2", "blue"]), ("b", ["v1", "v2"])] {
        let service = json!({"Name": "web", "ID": id, "Tags": tags});
        consul.register(service).await;
    }
    let node = json!({
        "Node": "far", "Address": "10.9.9.9", "NodeMeta": {"rack": "r1", "kind": "a:b"},
        "Service": {"ID": "api-1", "Service": "api", "Port": 80},
    });
    consul.put("/v1/catalog/register", node.to_string()).await;
    let catalog = |node_meta: &[(&str, &str)]| {
        let pairs = node_meta.iter();
        Query::catalog(&CatalogServicesView {
            node_meta: pairs
                .map(|&(key, value)| (key.into(), value.into()))
                .collect(),
            ..CatalogServicesView::default()
        })
    };
    let service = |name: &str, tags: &[&str]| {
        Item::from(CatalogService {
            name: name.to_owned(),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        })
    };
    let client = client(&consul.address());
    let all = client.read(&catalog(&[]), 0).await.unwrap();
    let expected = [
        service("api", &[]),
        service("consul", &[]),
        service("web", &["blue", "v1", "v2"]),
    ];
    assert_eq!(all.items, expected);
    let meta = catalog(&[("rack", "r1"), ("kind", "a:b")]);
    let mut poll = Poll::follow(client, meta);
    assert_eq!(poll.items().await, [service("api", &[])]);
    consul
        .put("/v1/catalog/deregister", json!({"Node": "far"}).to_string())
        .await;
    assert_eq!(poll.items().await, []);
}
