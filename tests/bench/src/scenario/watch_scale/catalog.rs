//! The services that are registered in Consul, and their changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use reqwest::Client;
use serde_json::{Value, json};

use crate::measures::clock::Moment;

/// Operations of one transaction; Consul takes 64.
const OPERATIONS: usize = 64;
const INSTANCES_OF_A_NODE: u32 = 100;

/// The catalog of the scenario.
#[derive(Debug, Clone)]
pub(super) struct Catalog {
    address: String,
    services: u32,
    client: Client,
    failures: Arc<AtomicU32>,
}

/// The first instance of a service gets a version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    pub(super) service: u32,
    pub(super) version: i64,
}

pub(super) fn name(service: u32) -> String {
    format!("service-{service:05}")
}

fn node(instance: u32) -> String {
    format!("node-{:04}", instance / INSTANCES_OF_A_NODE)
}

impl Catalog {
    pub(super) fn new(address: &str, services: u32) -> Result<Self> {
        Ok(Self {
            address: address.to_owned(),
            services,
            client: Client::builder()
                .no_proxy()
                .pool_max_idle_per_host(8)
                .build()?,
            failures: Arc::default(),
        })
    }

    /// Registers instances of the services in turn, each with a check that passes.
    pub(super) async fn fill(&self, instances: u32) -> Result<()> {
        let nodes = (0..instances.div_ceil(INSTANCES_OF_A_NODE)).map(|number| {
            let name = format!("node-{number:04}");
            json!({"Node": {"Verb": "set", "Node": {"Node": name, "Address": "10.1.2.3"}}})
        });
        self.transactions(nodes.collect()).await?;
        let instances = (0..instances).flat_map(|number| {
            let check = json!({"Check": {"Verb": "set", "Check": {
                "Node": node(number), "CheckID": format!("check-{number}"), "Name": "alive",
                "Status": "passing", "ServiceID": format!("i-{number}"),
            }}});
            [self.instance(number, 80), check]
        });
        self.transactions(instances.collect()).await
    }

    /// Instance number `number` is one of service `number` modulo the number of services.
    fn instance(&self, number: u32, port: i64) -> Value {
        json!({"Service": {"Verb": "set", "Node": node(number), "Service": {
            "ID": format!("i-{number}"), "Service": name(number % self.services),
            "Address": "10.1.2.3", "Port": port, "Tags": ["bench", "v1"],
            "Meta": {"zone": "a", "owner": "bench"},
        }}})
    }

    async fn transactions(&self, operations: Vec<Value>) -> Result<()> {
        let transactions =
            stream::iter(operations.chunks(OPERATIONS).map(|part| self.commit(part)));
        transactions.buffer_unordered(4).try_collect::<()>().await
    }

    async fn commit(&self, operations: &[Value]) -> Result<()> {
        let request = self.client.put(format!("http://{}/v1/txn", self.address));
        let answer = request.json(operations).send().await?;
        let status = answer.status();
        ensure!(status.is_success(), "{status}: {}", answer.text().await?);
        Ok(())
    }

    /// Changes a service; counts failures.
    pub(super) fn write(&self, write: Write) -> impl Future<Output = ()> + use<> {
        let operations = [self.instance(write.service, write.version)];
        let catalog = self.clone();
        async move {
            if catalog.commit(&operations).await.is_err() {
                catalog.failures.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Time for reading all services once over so many connections.
    pub(super) async fn read_all(&self, connections: usize) -> Result<Duration> {
        let client = Client::builder().no_proxy().build()?;
        let begun = Moment::now();
        let reads = (0..self.services).map(|service| {
            let url = format!(
                "http://{}/v1/health/service/{}?passing=1",
                self.address,
                name(service)
            );
            let request = client.get(url);
            async move {
                let answer = request.send().await?.error_for_status()?;
                answer.bytes().await.map(drop)
            }
        });
        let reads = stream::iter(reads).buffer_unordered(connections);
        reads.try_collect::<()>().await?;
        Ok(Moment::now().since(begun))
    }

    /// Requests of the last whole interval of Consul's metrics.
    pub(super) async fn requests_per_second(&self) -> Result<f64> {
        let url = format!("http://{}/v1/agent/metrics", self.address);
        let metrics: Value = self.client.get(url).send().await?.json().await?;
        let samples = metrics["Samples"].as_array().context("no samples")?;
        let requests = samples.iter().filter_map(|sample| {
            let name = sample["Name"].as_str()?;
            name.starts_with("consul.http.")
                .then(|| sample["Count"].as_f64())?
        });
        Ok(requests.sum::<f64>() / 10.0)
    }
}
