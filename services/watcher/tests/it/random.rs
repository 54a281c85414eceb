//! After any sequence of faults, each view shows the state of Consul in the end: random changes of all kinds,
//! while connections are cut, slow, half-open or answered by something else, and over few connections.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cts_consul::{ConsulClient, ConsulSettings, Query};
use cts_core::{CatalogServicesView, Item, ItemKey, KvQuery, Regexp, ServicesView, View};
use cts_testkit::{ConsulAgent, Link, TcpProxy, eventually};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::DEADLINE;
use crate::rig::{Rig, Subscriber, view};

const SERVICES: u8 = 24;
const STEPS: usize = 250;

#[derive(Debug, Clone)]
enum Step {
    /// Registers an instance, with a check that passes.
    Register {
        service: u8,
        instance: u8,
        port: u16,
        tag: u8,
    },
    Deregister {
        service: u8,
        instance: u8,
    },
    Check {
        service: u8,
        instance: u8,
        passes: bool,
    },
    Put {
        key: u8,
        value: u16,
    },
    Delete {
        key: u8,
    },
    Link(Link),
    /// Gives followers time to act.
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let link = prop_oneof![
        4 => Just(Link::Open),
        1 => (1..80_u64).prop_map(|ms| Link::Slow(Duration::from_millis(ms))),
        2 => Just(Link::Cut),
        1 => Just(Link::HalfOpen),
        1 => Just(Link::ToClient),
        1 => Just(Link::ToServer),
        1 => Just(Link::Answer(429, "too many")),
        1 => Just(Link::Answer(500, "no cluster leader")),
        1 => Just(Link::Answer(200, "garbage")),
    ];
    let step = prop_oneof![
        6 => (0..SERVICES, 0..3_u8, 1..9_u16, 0..3_u8).prop_map(|(service, instance, port, tag)| {
            Step::Register { service, instance, port, tag }
        }),
        3 => (0..SERVICES, 0..3_u8)
            .prop_map(|(service, instance)| Step::Deregister { service, instance }),
        3 => (0..SERVICES, 0..3_u8, any::<bool>())
            .prop_map(|(service, instance, passes)| Step::Check { service, instance, passes }),
        3 => (0..4_u8, 0..9_u16).prop_map(|(key, value)| Step::Put { key, value }),
        1 => (0..4_u8).prop_map(|key| Step::Delete { key }),
        2 => link.prop_map(Step::Link),
        4 => (1..60_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, STEPS)
}

fn name(service: u8) -> String {
    format!("s-{service}")
}

fn id(service: u8, instance: u8) -> String {
    format!("s-{service}-{instance}")
}

#[derive(Default)]
struct World(BTreeSet<(u8, u8)>);

impl World {
    async fn take(&mut self, consul: &ConsulAgent, proxy: &TcpProxy, step: Step) {
        match step {
            Step::Register {
                service,
                instance,
                port,
                tag,
            } => {
                self.0.insert((service, instance));
                let id = id(service, instance);
                let check = json!({"CheckID": id, "TTL": "10m", "Status": "passing"});
                let body = json!({"Name": name(service), "ID": id, "Port": port,
                    "Tags": [format!("t{tag}")], "Check": check});
                consul.register(body).await;
            }
            Step::Deregister { service, instance } => {
                if self.0.remove(&(service, instance)) {
                    consul.deregister(&id(service, instance)).await;
                }
            }
            Step::Check {
                service,
                instance,
                passes,
            } => {
                if self.0.contains(&(service, instance)) {
                    let status = if passes { "pass" } else { "fail" };
                    consul.set_check(&id(service, instance), status).await;
                }
            }
            Step::Put { key, value } => consul.kv_put(&format!("k/{key}"), value.to_string()).await,
            Step::Delete { key } => consul.kv_delete(&format!("k/{key}")).await,
            Step::Link(link) => proxy.set_link(link),
            Step::Wait(milliseconds) => sleep(Duration::from_millis(milliseconds)).await,
        }
    }
}

fn views() -> Vec<View> {
    let kv = |path: &str, recurse| {
        View::ConsulKv(KvQuery {
            path: path.to_owned(),
            recurse,
            ..KvQuery::default()
        })
    };
    let catalog = |regexp: &str| {
        View::CatalogServices(CatalogServicesView {
            regexp: regexp.to_owned(),
            ..CatalogServicesView::default()
        })
    };
    let regexp = View::Services(ServicesView {
        regexp: "^s-1".to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: String::new(),
    });
    let named = (0..SERVICES).map(|service| view(&name(service)));
    let others = [
        regexp,
        catalog(""),
        catalog("^s-2"),
        kv("k/", true),
        kv("k/1", false),
    ];
    named.chain(others).collect()
}

type Items = BTreeMap<ItemKey, Item>;

async fn read(consul: &ConsulClient, query: Query) -> Items {
    let items = consul.read(&query, 0).await.unwrap().items;
    items.into_iter().map(|item| (item.key(), item)).collect()
}

/// The items that a view should show.
async fn truth(consul: &ConsulClient, view: &View) -> Items {
    let matches = |regexp: &str, key: &ItemKey| {
        let regexp = Regexp::new(regexp).unwrap();
        matches!(key, ItemKey::Name(name) if regexp.is_match(name))
    };
    match view {
        View::Service(service) => read(consul, Query::health(service.clone())).await,
        View::ConsulKv(query) => read(consul, Query::Kv(query.clone())).await,
        View::CatalogServices(catalog) => {
            let mut all = read(consul, Query::catalog(catalog)).await;
            all.retain(|key, _item| matches(&catalog.regexp, key));
            all
        }
        View::Services(services) => {
            let names = read(consul, Query::catalog(&CatalogServicesView::default())).await;
            let mut all = Items::new();
            for key in names.keys().filter(|key| matches(&services.regexp, key)) {
                let ItemKey::Name(name) = key else { continue };
                let View::Service(service) = self::view(name) else {
                    continue;
                };
                all.extend(read(consul, Query::health(service)).await);
            }
            all
        }
    }
}

async fn agrees(subscriber: &mut Subscriber, consul: &ConsulClient) -> Result<(), String> {
    while let Ok(received) = timeout(Duration::from_millis(50), subscriber.receive()).await {
        received.unwrap();
    }
    for view in views() {
        let id = view.id();
        let seen = subscriber
            .snapshot(id.as_str())
            .ok_or_else(|| format!("{id} is not known"))?;
        let truth = truth(consul, &view).await;
        if seen.items != truth {
            return Err(format!("{id} shows {:?}, not {truth:?}", seen.items));
        }
    }
    Ok(())
}

/// Runs the test with so many connections to Consul.
async fn ends_with_the_truth(connections: usize) {
    let mut runner = TestRunner::deterministic();
    let steps = steps().new_tree(&mut runner).unwrap().current();
    let consul = ConsulAgent::start().await;
    let proxy = TcpProxy::start(consul.address().parse().unwrap()).await;
    let rig = Rig::with(&ConsulSettings {
        address: proxy.address().to_string(),
        max_per_host: connections,
        ..ConsulSettings::default()
    });
    let mut subscriber = rig.subscriber().await;
    subscriber.subscribe(&views());
    let direct = ConsulSettings {
        address: consul.address(),
        ..ConsulSettings::default()
    };
    let direct = ConsulClient::new(&direct).unwrap();
    let mut world = World::default();
    // Seldom enough for much to happen at once, often enough for any kind of change to be the last one.
    for steps in steps.chunks(10) {
        for step in steps {
            world.take(&consul, &proxy, step.clone()).await;
            // Messages that wait must not hold up the followers for ever.
            if let Ok(received) = timeout(Duration::ZERO, subscriber.receive()).await {
                received.unwrap();
            }
        }
        proxy.set_link(Link::Open);
        eventually(DEADLINE, async || agrees(&mut subscriber, &direct).await).await;
    }
}

#[tokio::test]
async fn every_view_waits_for_itself() {
    ends_with_the_truth(100).await;
}

#[tokio::test]
async fn most_views_are_read_again() {
    ends_with_the_truth(12).await;
}
