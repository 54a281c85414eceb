//! The client and its loop against the real Consul, and against fakes for what a healthy Consul does
//! not do.

#![expect(clippy::unwrap_used, clippy::panic, reason = "shared steps of tests")]

mod faults;
mod following;
mod health;
mod names;
mod registration;
mod requests;
mod secure;

use std::time::Duration;

use cts_consul::{ConsulClient, ConsulSettings, PollEvent, poll_service};
use cts_core::{ServiceInstance, ServiceView};
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

/// A poller in the background, and what it reports.
struct Poll {
    events: mpsc::UnboundedReceiver<PollEvent>,
    tasks: JoinSet<()>,
}

impl Poll {
    fn start(client: ConsulClient, view: ServiceView) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let report = |event| drop(sender.send(event));
            match poll_service(&client, &view, report).await {}
        });
        Self { events, tasks }
    }

    async fn next(&mut self) -> PollEvent {
        let event = timeout(DEADLINE, self.events.recv()).await;
        event
            .unwrap_or_else(|_| panic!("no event within {DEADLINE:?}"))
            .unwrap()
    }

    async fn snapshot(&mut self) -> Vec<ServiceInstance> {
        match self.next().await {
            PollEvent::Snapshot { instances, .. } => instances,
            PollEvent::Failure { error, .. } => panic!("{}", error.report()),
        }
    }

    /// Message, count and pause of a failure.
    async fn failure(&mut self) -> (String, u32, Duration) {
        match self.next().await {
            PollEvent::Failure {
                error,
                failures,
                retry_after,
            } => (error.report(), failures, retry_after),
            PollEvent::Snapshot { instances, .. } => panic!("no failure but {instances:?}"),
        }
    }
}

fn ids(instances: &[ServiceInstance]) -> Vec<&str> {
    let mut ids: Vec<_> = instances.iter().map(|i| i.id.as_str()).collect();
    ids.sort_unstable();
    ids
}
