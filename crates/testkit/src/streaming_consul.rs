//! A stub that answers health queries as Consul 1.10 and newer do.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::scripted_http::receive;

/// How long a query is held that does not say how long.
const WAIT: Duration = Duration::from_mins(5);
const HEALTH: &str = "/v1/health/service/";

/// Answers `/v1/health/service/<name>`: without an index at once and from the leader, with one from streaming, which holds
/// the query and always says that no leader is known. Ends when dropped.
#[derive(Debug)]
pub struct StreamingConsul {
    address: SocketAddr,
    catalog: watch::Sender<Catalog>,
    _connections: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Catalog {
    index: u64,
    /// Index of the last change and port of each service, which has one instance.
    services: BTreeMap<String, (u64, u16)>,
    /// Queries that streaming has answered.
    streamed: u64,
}

impl StreamingConsul {
    /// A Consul without services.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("loopback has free ports");
        let address = listener.local_addr().expect("it listens");
        let catalog = watch::Sender::new(Catalog {
            index: 10,
            ..Catalog::default()
        });
        let mut connections = JoinSet::new();
        let known = catalog.clone();
        connections.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(converse(stream, known.clone()));
            }
        });
        Self {
            address,
            catalog,
            _connections: connections,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Gives a service one instance, with this port.
    pub fn register(&self, service: &str, port: u16) {
        self.catalog.send_modify(|catalog| {
            catalog.index += 1;
            let changed = (catalog.index, port);
            catalog.services.insert(service.to_owned(), changed);
        });
    }

    /// How many queries streaming has answered.
    pub fn streamed(&self) -> u64 {
        self.catalog.borrow().streamed
    }
}

/// Answers one request after the other; `None` at the end.
async fn converse(stream: TcpStream, catalog: watch::Sender<Catalog>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let request = receive(&mut stream).await?;
        let target = request.line.strip_prefix("GET ")?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(service) = path.strip_prefix(HEALTH) else {
            let refusal = "HTTP/1.1 404 x\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(refusal.as_bytes()).await.ok()?;
            continue;
        };
        let index = parameter(query, "index").and_then(|text| text.parse().ok());
        let wait = parameter(query, "wait").and_then(|text| text.strip_suffix('s'));
        let wait = wait.and_then(|text| text.parse().ok());
        let wait = wait.map_or(WAIT, Duration::from_secs);
        let is_streamed = index > Some(0);
        if let Some(asked @ 1..) = index {
            let mut changes = catalog.subscribe();
            let passed = changes.wait_for(|catalog| catalog.last_change(service).0 > asked);
            // Once the wait is over it is answered as well.
            drop(timeout(wait, passed).await);
            catalog.send_if_modified(|catalog| {
                catalog.streamed += 1;
                false
            });
        }
        let (at, body) = catalog.borrow().answer(service);
        let (backend, leader) = if is_streamed {
            ("streaming", false)
        } else {
            ("blocking-query", true)
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Consul-Index: {at}\r\n\
             X-Consul-KnownLeader: {leader}\r\nX-Consul-LastContact: 0\r\n\
             X-Consul-Query-Backend: {backend}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).await.ok()?;
        stream.flush().await.ok()?;
    }
}

impl Catalog {
    /// Returns index and port; for an unknown service, the index of the beginning.
    fn last_change(&self, service: &str) -> (u64, Option<u16>) {
        let known = self.services.get(service);
        known.map_or((1, None), |(index, port)| (*index, Some(*port)))
    }

    fn answer(&self, service: &str) -> (u64, String) {
        let (index, port) = self.last_change(service);
        let instances: Vec<Value> = port
            .map(|port| {
                json!({
                    "Node": {"Node": "n", "Address": "10.0.0.1", "Meta": null},
                    "Service": {"ID": service, "Service": service, "Port": port, "Tags": []},
                    "Checks": [],
                })
            })
            .into_iter()
            .collect();
        (index, Value::from(instances).to_string())
    }
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (key == name).then_some(value))
}
