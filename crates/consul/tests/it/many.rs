//! More queries than connections, with the limits that Consul has by default.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cts_consul::{ConsulClient, ConsulSettings, PollEvent, Query, QueryPool, ReadRequests};
use cts_core::{Item, KvQuery};
use cts_testkit::{ConsulAgent, Link, TcpProxy, eventually};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::secure::Secure;
use crate::{DEADLINE, settings, view};

/// Numbered queries of a pool, with the newest items of each.
pub(crate) struct Many {
    pub(crate) known: BTreeMap<usize, Vec<Item>>,
    pub(crate) events: mpsc::UnboundedReceiver<(usize, PollEvent)>,
    _tasks: JoinSet<()>,
}

impl Many {
    pub(crate) fn start(
        settings: &ConsulSettings,
        queries: impl IntoIterator<Item = Query>,
    ) -> Self {
        let pool = QueryPool::new(ConsulClient::new(settings).unwrap());
        let (sender, events) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for (number, query) in queries.into_iter().enumerate() {
            let (pool, sender) = (pool.clone(), sender.clone());
            tasks.spawn(async move {
                let report = |event| drop(sender.send((number, event)));
                match pool.follow(&query, &ReadRequests::default(), report).await {}
            });
        }
        Self {
            known: BTreeMap::new(),
            events,
            _tasks: tasks,
        }
    }

    /// Waits until this many queries have failed; snapshots in between are passed over.
    async fn all_fail(&mut self, count: usize) {
        let mut failed = std::collections::BTreeSet::new();
        while failed.len() < count {
            let event = timeout(DEADLINE, self.events.recv()).await;
            if let (number, PollEvent::Failure { .. }) = event.unwrap().unwrap() {
                failed.insert(number);
            }
        }
    }

    /// The next items that are not those known.
    pub(crate) async fn next(&mut self) -> (usize, Vec<Item>) {
        loop {
            let event = timeout(DEADLINE, self.events.recv()).await;
            match event.expect("nothing comes").unwrap() {
                (number, PollEvent::Snapshot { items, .. }) => {
                    if self.known.insert(number, items.clone()).as_ref() != Some(&items) {
                        return (number, items);
                    }
                }
                (number, PollEvent::Failure { error, .. }) => {
                    panic!("{number}: {}", error.report())
                }
                (_, PollEvent::Read { .. }) => panic!("nothing was requested"),
            }
        }
    }

    pub(crate) async fn all(&mut self, count: usize) {
        while self.known.len() < count {
            self.next().await;
        }
    }

    /// Returns the next change, which must be of this query.
    pub(crate) async fn change_of(&mut self, number: usize) -> Vec<Item> {
        let (changed, items) = self.next().await;
        assert_eq!(changed, number, "{items:?}");
        items
    }
}

/// Connections to a Consul.
fn connections(address: &str) -> usize {
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let remote = format!(":{port:04X} 01 ");
    table.lines().filter(|line| line.contains(&remote)).count()
}

fn name(number: usize) -> String {
    format!("service-{number:04}")
}

/// Registers so many services without checks, an instance each, on a node of their own.
pub(crate) async fn register(consul: &ConsulAgent, services: usize) {
    for number in 0..services {
        instance(consul, number, 80).await;
    }
}

pub(crate) async fn instance(consul: &ConsulAgent, number: usize, port: u16) {
    let registration = json!({
        "Node": format!("node-{}", number / 10), "Address": "10.0.0.1", "SkipNodeUpdate": false,
        "Service": {"ID": format!("i-{number}"), "Service": name(number), "Port": port},
    });
    consul
        .put("/v1/catalog/register", registration.to_string())
        .await;
}

pub(crate) fn services(count: usize) -> impl Iterator<Item = Query> {
    (0..count).map(|number| Query::health(view(&name(number))))
}

pub(crate) fn ports(items: &[Item]) -> Vec<i64> {
    let ports = items.iter().map(|item| match item {
        Item::Instance(instance) => instance.port,
        other => panic!("no instance but {other:?}"),
    });
    ports.collect()
}

fn narrow(consul: &ConsulAgent, connections: usize) -> ConsulSettings {
    ConsulSettings {
        max_per_host: connections,
        ..settings(&consul.address())
    }
}

#[tokio::test]
async fn every_change_is_seen_over_a_tenth_of_the_connections() {
    const SERVICES: usize = 300;
    let consul = ConsulAgent::start().await;
    register(&consul, SERVICES).await;
    let keys = ["a", "b"].map(|path| {
        Query::Kv(KvQuery {
            path: path.to_owned(),
            ..KvQuery::default()
        })
    });
    let queries = services(SERVICES).chain(keys);
    let mut many = Many::start(&narrow(&consul, 30), queries);
    many.all(SERVICES + 2).await;
    assert!(
        many.known
            .values()
            .take(SERVICES)
            .all(|items| items.len() == 1)
    );

    let mut most = 0;
    for number in [0, 17, 150, 299] {
        // A changed port of an instance without checks moves nothing but the catalog.
        instance(&consul, number, 81).await;
        assert_eq!(ports(&many.change_of(number).await), [81]);
        most = most.max(connections(&consul.address()));
    }
    // A check that fails moves nothing but the checks.
    let check = |status: &str| {
        json!({"Node": "node-20", "SkipNodeUpdate": true,
            "Check": {"Node": "node-20", "CheckID": "c", "Name": "c", "Status": status,
                "ServiceID": "i-200"}})
    };
    for (status, expected) in [("critical", 0), ("passing", 1)] {
        let check = check(status).to_string();
        consul.put("/v1/catalog/register", check).await;
        assert_eq!(many.change_of(200).await.len(), expected);
    }
    // A node's meta data moves nothing but the nodes, and all that is on it.
    let node = json!({"Node": "node-29", "Address": "10.0.0.1", "NodeMeta": {"rack": "r2"}});
    consul.put("/v1/catalog/register", node.to_string()).await;
    let mut moved = Vec::new();
    for _ in 290..300 {
        moved.push(many.next().await.0);
    }
    moved.sort_unstable();
    assert_eq!(moved, (290..300).collect::<Vec<_>>());
    consul.kv_put("b", "1").await;
    assert_eq!(many.change_of(SERVICES + 1).await.len(), 1);
    most = most.max(connections(&consul.address()));
    assert!(most <= 30, "{most} connections");
}

#[tokio::test]
async fn over_http2_each_query_is_held_and_many_share_a_connection() {
    const SERVICES: usize = 500;
    let secure = Secure::start().await;
    register(&secure.consul, SERVICES).await;
    let settings = ConsulSettings {
        max_per_host: 10,
        ..secure.settings()
    };
    let mut many = Many::start(&settings, services(SERVICES));
    many.all(SERVICES).await;
    for number in [0, 250, 499] {
        instance(&secure.consul, number, 81).await;
        assert_eq!(ports(&many.change_of(number).await), [81]);
    }
    let used = connections(&settings.address);
    assert!((3..=10).contains(&used), "{used} connections");
}

#[tokio::test]
async fn an_outage_is_reported_of_each_and_what_changed_in_it_is_found() {
    const SERVICES: usize = 60;
    let mut consul = ConsulAgent::start_durable().await;
    register(&consul, SERVICES).await;
    let mut many = Many::start(&narrow(&consul, 16), services(SERVICES));
    many.all(SERVICES).await;
    consul.stop().await;
    many.all_fail(SERVICES).await;
    consul.restart().await;
    instance(&consul, 33, 99).await;
    eventually(DEADLINE, async || {
        while let Ok((number, event)) = many.events.try_recv() {
            if let PollEvent::Snapshot { items, .. } = event {
                many.known.insert(number, items);
            }
        }
        match ports(&many.known[&33])[..] {
            [99] => Ok(()),
            ref other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn a_thousand_that_consul_turns_away_ask_ever_less_and_all_come_back() {
    const SERVICES: usize = 1000;
    const AWAY: Duration = Duration::from_secs(6);
    let consul = ConsulAgent::start().await;
    register(&consul, SERVICES).await;
    let proxy = TcpProxy::start(consul.address().parse().unwrap()).await;
    let settings = ConsulSettings {
        max_per_host: 30,
        ..settings(&proxy.address().to_string())
    };
    let mut many = Many::start(&settings, services(SERVICES));
    many.all(SERVICES).await;
    proxy.set_link(Link::Answer(429, "too many requests"));
    let mut failures: BTreeMap<usize, u32> = BTreeMap::new();
    let begun = Instant::now();
    let mut note = |(number, event): (usize, PollEvent)| match event {
        PollEvent::Failure { .. } => *failures.entry(number).or_default() += 1,
        // Answered before the link was changed.
        PollEvent::Snapshot { items, .. } => drop(many.known.insert(number, items)),
        PollEvent::Read { .. } => panic!("nothing was requested"),
    };
    while let Ok(event) = timeout(AWAY.saturating_sub(begun.elapsed()), many.events.recv()).await {
        note(event.unwrap());
    }
    let changed = [0, 333, 666, 999];
    for number in changed {
        instance(&consul, number, 81).await;
    }
    proxy.set_link(Link::Open);
    assert_eq!(failures.len(), SERVICES, "each says that it is not seen");
    let most = failures.values().max();
    assert!(most <= Some(&7), "{most:?} tries of one in {AWAY:?}");
    let mut back = std::collections::BTreeSet::new();
    while back.len() < SERVICES {
        let event = timeout(DEADLINE, many.events.recv()).await.unwrap();
        if let (number, PollEvent::Snapshot { items, .. }) = event.unwrap() {
            many.known.insert(number, items);
            back.insert(number);
        }
    }
    for number in changed {
        assert_eq!(ports(&many.known[&number]), [81]);
    }
    instance(&consul, 500, 82).await;
    while ports(&many.known[&500]) != [82] {
        many.next().await;
    }
}

#[tokio::test]
async fn followers_come_and_go_and_each_learns_its_data() {
    const SERVICES: usize = 80;
    let consul = ConsulAgent::start().await;
    register(&consul, SERVICES).await;
    let client = ConsulClient::new(&narrow(&consul, 16)).unwrap();
    let pool = QueryPool::new(client);
    let (sender, mut events) = mpsc::unbounded_channel();
    let follow = |tasks: &mut JoinSet<()>, number: usize| {
        let (pool, sender) = (pool.clone(), sender.clone());
        let query = Arc::new(Query::health(view(&name(number))));
        tasks.spawn(async move {
            let report = |event| drop(sender.send((number, event)));
            match pool.follow(&query, &ReadRequests::default(), report).await {}
        });
    };
    let mut few = JoinSet::new();
    (0..10).for_each(|number| follow(&mut few, number));
    let mut others = JoinSet::new();
    (10..SERVICES).for_each(|number| follow(&mut others, number));
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < SERVICES {
        let (number, _event) = timeout(DEADLINE, events.recv()).await.unwrap().unwrap();
        seen.insert(number);
    }
    others.shutdown().await;
    // The few have connections of their own again.
    instance(&consul, 7, 90).await;
    loop {
        let event = timeout(DEADLINE, events.recv()).await.unwrap().unwrap();
        if let (7, PollEvent::Snapshot { items, .. }) = event
            && ports(&items) == [90]
        {
            break;
        }
    }
    let most = connections(&consul.address());
    assert!(most <= 16, "{most} connections");
}

/// A leader that has just been elected answers from what it has read of its log so far.
#[tokio::test]
async fn a_restarted_consul_shows_nothing_before_it_has_read_its_log() {
    const SERVICES: usize = 2000;
    let mut consul = ConsulAgent::start_durable().await;
    register(&consul, SERVICES).await;
    let mut many = Many::start(&narrow(&consul, 30), services(SERVICES));
    many.all(SERVICES).await;
    for _restart in 0..3 {
        consul.kill().await;
        many.all_fail(SERVICES).await;
        consul.restart().await;
        let mut back = std::collections::BTreeSet::new();
        while back.len() < SERVICES {
            let event = timeout(DEADLINE, many.events.recv()).await;
            if let (number, PollEvent::Snapshot { items, .. }) = event.unwrap().unwrap() {
                assert_eq!(items.len(), 1, "svc-{number} is gone");
                back.insert(number);
            }
        }
    }
}
