//! The client and its loop against the real Consul, and against fakes for what a healthy Consul does
//! not do.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod answers;
mod cuts;
mod faults;
mod filters;
mod following;
mod health;
mod keys;
mod many;
mod names;
mod outage;
mod registration;
mod requests;
mod secure;
mod streaming;

use std::sync::Arc;
use std::time::Duration;

use cts_consul::{
    ConsulClient, ConsulError, ConsulSettings, PollEvent, Query, UnreadableInstance, poll,
};
use cts_core::{Item, ServiceInstance, ServiceView};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(30);

fn settings(address: &str) -> ConsulSettings {
    ConsulSettings {
        address: address.to_owned(),
        ..ConsulSettings::default()
    }
}

fn client(address: &str) -> ConsulClient {
    ConsulClient::new(&settings(address)).unwrap()
}

fn view(name: &str) -> ServiceView {
    ServiceView {
        name: name.to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: String::new(),
    }
}

/// Consul's answer about a service.
#[derive(Debug)]
struct HealthAnswer {
    index: Option<u64>,
    instances: Vec<Arc<ServiceInstance>>,
    unreadable: Vec<UnreadableInstance>,
}

trait AskHealth {
    /// Asks for the instances of a service.
    async fn health_service(
        &self,
        view: &ServiceView,
        index: u64,
    ) -> Result<HealthAnswer, ConsulError>;
}

impl AskHealth for ConsulClient {
    async fn health_service(
        &self,
        view: &ServiceView,
        index: u64,
    ) -> Result<HealthAnswer, ConsulError> {
        let answer = self.read(&Query::health(view.clone()), index).await?;
        Ok(HealthAnswer {
            index: answer.index,
            instances: instances(answer.items),
            unreadable: answer.unreadable,
        })
    }
}

fn instances(items: Vec<Item>) -> Vec<Arc<ServiceInstance>> {
    let instances = items.into_iter().map(|item| match item {
        Item::Instance(instance) => instance,
        other => panic!("no instance but {other:?}"),
    });
    instances.collect()
}

/// A poller in the background, and what it reports.
struct Poll {
    events: mpsc::UnboundedReceiver<PollEvent>,
    tasks: JoinSet<()>,
}

impl Poll {
    fn start(client: ConsulClient, view: ServiceView) -> Self {
        Self::follow(client, Query::health(view))
    }

    fn follow(client: ConsulClient, query: Query) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let report = |event| drop(sender.send(event));
            match poll(&client, &query, report).await {}
        });
        Self { events, tasks }
    }

    async fn next(&mut self) -> PollEvent {
        let event = timeout(DEADLINE, self.events.recv()).await;
        event
            .unwrap_or_else(|_| panic!("no event within {DEADLINE:?}"))
            .unwrap()
    }

    async fn snapshot(&mut self) -> Vec<Arc<ServiceInstance>> {
        instances(self.items().await)
    }

    async fn items(&mut self) -> Vec<Item> {
        match self.next().await {
            PollEvent::Snapshot { items, .. } => items,
            PollEvent::Failure { error, .. } => panic!("{}", error.report()),
            PollEvent::Read { .. } => panic!("nothing was requested"),
        }
    }

    /// Message, count and pause of a failure.
    async fn failure(&mut self) -> (String, u32, Duration) {
        match self.next().await {
            PollEvent::Failure {
                error,
                failures,
                retry_after,
                ..
            } => (error.report(), failures, retry_after),
            PollEvent::Snapshot { items, .. } => panic!("no failure but {items:?}"),
            PollEvent::Read { .. } => panic!("nothing was requested"),
        }
    }
}

fn ids(instances: &[Arc<ServiceInstance>]) -> Vec<&str> {
    let mut ids: Vec<_> = instances.iter().map(|i| i.id.as_str()).collect();
    ids.sort_unstable();
    ids
}
