//! Views over expressions, and keys.

use cts_core::{CatalogServicesView, Item, KvQuery, ServicesView, View, ViewSnapshot};
use cts_testkit::{ConsulAgent, eventually};
use serde_json::json;

use crate::DEADLINE;
use crate::rig::{Rig, Subscriber, Update, ids, instances, view};

fn services(regexp: &str, filter: &str) -> View {
    View::Services(ServicesView {
        regexp: regexp.to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: filter.to_owned(),
    })
}

fn catalog(regexp: &str) -> View {
    View::CatalogServices(CatalogServicesView {
        regexp: regexp.to_owned(),
        ..CatalogServicesView::default()
    })
}

/// Names with their tags.
fn names(snapshot: &ViewSnapshot) -> Vec<(&str, Vec<&str>)> {
    let services = snapshot.items.values().map(|item| match item {
        Item::Service(service) => {
            let tags = service.tags.iter().map(String::as_str);
            (service.name.as_str(), tags.collect())
        }
        other => panic!("no service but {other:?}"),
    });
    services.collect()
}

async fn until(subscriber: &mut Subscriber, expected: &[&str]) {
    eventually(DEADLINE, async || match subscriber.update().await {
        Update::Delta { snapshot, .. } if ids(&snapshot) == expected => Ok(()),
        other => Err(format!("{other:?}")),
    })
    .await;
}

async fn register(consul: &ConsulAgent, name: &str, id: &str, status: &str) {
    let check = json!({"CheckID": format!("check-{id}"), "TTL": "10m", "Status": status});
    let service = json!({"Name": name, "ID": id, "Check": check});
    consul.register(service).await;
}

#[tokio::test]
async fn instances_of_all_services_whose_names_match_are_one_view() {
    let consul = ConsulAgent::start().await;
    for (name, id) in [("web-a", "1"), ("web-b", "2"), ("api", "3")] {
        register(&consul, name, id, "passing").await;
    }
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&services("^web", "")]);
    let (base, first) = subscriber.delta().await;
    assert_eq!((base, ids(&first)), (None, vec!["1", "2"]), "never a part");
    // A change of health, which the original does not see.
    consul.set_check("check-2", "fail").await;
    assert_eq!(ids(&subscriber.delta().await.1), ["1"]);
    consul.set_check("check-2", "pass").await;
    assert_eq!(ids(&subscriber.delta().await.1), ["1", "2"]);
    // A name is added, and one is removed.
    register(&consul, "web-c", "4", "passing").await;
    until(&mut subscriber, &["1", "2", "4"]).await;
    consul.deregister("1").await;
    until(&mut subscriber, &["2", "4"]).await;
    // An instance that another service takes over.
    register(&consul, "web-c", "2", "passing").await;
    until(&mut subscriber, &["2", "4"]).await;
    consul.deregister("2").await;
    until(&mut subscriber, &["4"]).await;
}

#[tokio::test]
async fn a_filter_narrows_what_passes_and_never_brings_more() {
    let consul = ConsulAgent::start().await;
    register(&consul, "web-a", "1", "critical").await;
    register(&consul, "web-b", "2", "passing").await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&services("web", "Checks.Status != \"\"")]);
    assert_eq!(ids(&subscriber.delta().await.1), ["2"]);
}

#[tokio::test]
async fn proxies_and_gateways_are_told_by_their_kind_and_a_filter_leaves_them_out() {
    let consul = ConsulAgent::start().await;
    for (name, status) in [("web", "passing"), ("api", "critical")] {
        let check = json!({"CheckID": format!("proxy-{name}"), "TTL": "10m", "Status": status});
        let sidecar = json!({"Port": 21000, "Check": check});
        let connect = json!({"SidecarService": sidecar});
        consul
            .register(
                json!({"Name": name, "ID": format!("{name}-1"), "Port": 80, "Connect": connect}),
            )
            .await;
    }
    let wan = json!({"wan": {"Address": "198.51.100.1", "Port": 443}});
    let gateway =
        json!({"Name": "edge", "Kind": "mesh-gateway", "Port": 8443, "TaggedAddresses": wan});
    consul.register(gateway).await;
    consul
        .register(json!({"Name": "native", "Connect": {"Native": true}}))
        .await;
    let external = json!({
        "Node": "far", "Address": "far.example", "NodeMeta": {"external-node": "true"},
        "Service": {"Service": "printer", "Port": 631},
    });
    consul
        .put("/v1/catalog/register", external.to_string())
        .await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    let services_alone = [
        ("api", ""),
        ("consul", ""),
        ("native", ""),
        ("printer", ""),
        ("web", ""),
    ];
    let mut everything = services_alone.to_vec();
    everything.extend([
        ("edge", "mesh-gateway"),
        ("web-sidecar-proxy", "connect-proxy"),
    ]);
    everything.sort_unstable();
    for (filter, expected) in [
        ("", everything),
        ("Service.Kind == \"\"", services_alone.to_vec()),
    ] {
        subscriber.subscribe([&services("", filter)]);
        let (_base, snapshot) = subscriber.delta().await;
        let kinds = instances(&snapshot).into_iter();
        let kinds = kinds.map(|instance| (instance.name.as_str(), instance.kind.as_str()));
        let mut kinds: Vec<_> = kinds.collect();
        kinds.sort_unstable();
        assert_eq!(kinds, expected, "{filter}");
    }
}

#[tokio::test]
async fn nothing_that_matches_is_an_empty_view_and_what_cannot_be_read_is_a_failure() {
    let consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&services("^none", "")]);
    assert_eq!(ids(&subscriber.delta().await.1), [""; 0]);
    register(&consul, "none-1", "1", "passing").await;
    assert_eq!(ids(&subscriber.delta().await.1), ["1"]);
    for (odd, message) in [
        (
            services("^none", "Nonsense == 1"),
            "Unexpected response code",
        ),
        (
            services("^none", "a == b and"),
            "the filter is not sent to consul: the operator at character 8",
        ),
        (services("(", ""), "the regexp cannot be used"),
        (catalog("("), "the regexp cannot be used"),
    ] {
        let mut subscriber = rig.subscriber().await;
        subscriber.subscribe([&odd]);
        match subscriber.update().await {
            Update::Failure(failure) => {
                assert!(failure.message.contains(message), "{failure:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn all_expressions_share_the_view_of_all_names_and_end_with_their_subscribers() {
    let consul = ConsulAgent::start().await;
    register(&consul, "web-a", "1", "passing").await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    let views = [catalog("^web"), catalog("^api"), services("^web", "")];
    subscriber.subscribe(&views);
    for _ in &views {
        subscriber.update().await;
    }
    // The three, all names, and the instances of one service.
    assert_eq!(rig.watcher.followed_views(), 5);
    let mut named = rig.follower(&view("web-a")).await;
    drop(subscriber);
    eventually(DEADLINE, async || match rig.watcher.followed_views() {
        1 => Ok(()),
        count => Err(format!("{count} views are followed")),
    })
    .await;
    consul.deregister("1").await;
    assert_eq!(ids(&named.delta().await.1), [""; 0]);
}

#[tokio::test]
async fn names_and_their_tags_come_change_and_go() {
    let consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe([&catalog("^web")]);
    assert_eq!(names(&subscriber.delta().await.1), []);
    consul
        .register(json!({"Name": "web", "ID": "1", "Tags": ["b", "a"]}))
        .await;
    assert_eq!(
        names(&subscriber.delta().await.1),
        [("web", vec!["a", "b"])]
    );
    consul.register(json!({"Name": "api", "ID": "2"})).await;
    consul
        .register(json!({"Name": "web", "ID": "1", "Tags": []}))
        .await;
    // A service that does not match is no change.
    assert_eq!(names(&subscriber.delta().await.1), [("web", vec![])]);
    consul.deregister("1").await;
    assert_eq!(names(&subscriber.delta().await.1), []);
}

#[tokio::test]
async fn a_key_is_followed_with_all_that_its_value_may_be() {
    let consul = ConsulAgent::start().await;
    let rig = Rig::start(&consul.address());
    let mut subscriber = rig.subscriber().await;
    let query = KvQuery {
        path: "a/".to_owned(),
        recurse: true,
        ..KvQuery::default()
    };
    subscriber.subscribe([&View::ConsulKv(query)]);
    assert!(subscriber.delta().await.1.items.is_empty());
    let value = "\"q\"\n${a} %{b} \u{1f680}".repeat(1000);
    consul.kv_put("a/b", value.clone()).await;
    let (_, snapshot) = subscriber.delta().await;
    let [Item::Key(pair)] = &snapshot.items.values().collect::<Vec<_>>()[..] else {
        panic!("{snapshot:?}");
    };
    assert_eq!((&pair.key, &pair.value), (&"a/b".to_owned(), &value));
    consul.kv_delete("a/b").await;
    assert!(subscriber.delta().await.1.items.is_empty());
}
