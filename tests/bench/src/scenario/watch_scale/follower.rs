//! A subscriber of all services, which knows what it should see.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use cts_core::{ServiceView, View};
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_proto::watch::v1::{WatchRequest, WatchResponse};
use cts_rpc::convert::subscribe_to_wire;
use futures::stream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout_at};
use tonic::Streaming;

use super::catalog::name;
use crate::clock::Moment;
use crate::sample::Sample;

/// Time for the watcher to answer after its start.
const START: Duration = Duration::from_secs(30);
/// Time for all first snapshots.
const FIRST: Duration = Duration::from_mins(3);

#[derive(Debug)]
struct Expected {
    version: i64,
    since: Moment,
    is_hot: bool,
}

/// Follows all services.
#[derive(Debug)]
pub(super) struct Follower {
    responses: Streaming<WatchResponse>,
    subscribed: Moment,
    services: u32,
    /// By the name of the service, the oldest first.
    expected: HashMap<String, VecDeque<Expected>>,
    hot: Sample,
    cold: Sample,
    _requests: mpsc::UnboundedSender<WatchRequest>,
}

impl Follower {
    /// Subscribes at a watcher as soon as it answers.
    pub(super) async fn start(address: &str, services: u32) -> Result<Self> {
        let views = (0..services).map(|service| {
            View::Service(ServiceView {
                name: name(service),
                datacenter: String::new(),
                namespace: String::new(),
                filter: String::new(),
            })
        });
        let subscribe = Change::Subscribe(subscribe_to_wire(views, 1));
        let deadline = tokio::time::Instant::now() + START;
        loop {
            let (requests, queue) = mpsc::unbounded_channel();
            requests.send(WatchRequest {
                change: Some(subscribe.clone()),
            })?;
            let queue = stream::unfold(queue, |mut queue| async {
                let request = queue.recv().await?;
                Some((request, queue))
            });
            let mut client = WatchServiceClient::new(cts_rpc::connect(address)?);
            let subscribed = Moment::now();
            match client.watch(queue).await {
                Ok(answer) => {
                    return Ok(Self {
                        responses: answer.into_inner(),
                        subscribed,
                        services,
                        expected: HashMap::new(),
                        hot: Sample::default(),
                        cold: Sample::default(),
                        _requests: requests,
                    });
                }
                Err(status) if tokio::time::Instant::now() > deadline => {
                    bail!("the watcher does not answer: {status}")
                }
                Err(_not_yet) => sleep(Duration::from_millis(50)).await,
            }
        }
    }

    /// Waits until every service is known; the time that took.
    pub(super) async fn first_snapshots(&mut self) -> Result<Duration> {
        let deadline = tokio::time::Instant::now() + FIRST;
        let mut known = HashSet::new();
        while known.len() < self.services as usize {
            let message = timeout_at(deadline, self.responses.message()).await;
            let message = message.with_context(|| format!("only {} are known", known.len()))??;
            match message.and_then(|message| message.event) {
                Some(Event::Delta(delta)) if delta.complete => drop(known.insert(delta.view_id)),
                Some(Event::Delta(_part)) => {}
                Some(Event::Failure(failure)) => {
                    bail!("{} cannot be read: {}", failure.view_id, failure.message)
                }
                None => bail!("the watcher has ended the stream"),
            }
        }
        Ok(Moment::now().since(self.subscribed))
    }

    /// The version is about to be written.
    pub(super) fn expect(&mut self, service: u32, version: i64, since: Moment, is_hot: bool) {
        let expected = Expected {
            version,
            since,
            is_hot,
        };
        self.expected
            .entry(name(service))
            .or_default()
            .push_back(expected);
    }

    /// Takes one message. Cancel safe.
    pub(super) async fn receive(&mut self) -> Result<()> {
        let message = self.responses.message().await?;
        let now = Moment::now();
        match message.and_then(|message| message.event) {
            Some(Event::Delta(delta)) => {
                for instance in delta.upserts {
                    let Some(expected) = self.expected.get_mut(&instance.name) else {
                        continue;
                    };
                    while let Some(first) = expected.front()
                        && first.version <= instance.port
                    {
                        let sample = if first.is_hot {
                            &mut self.hot
                        } else {
                            &mut self.cold
                        };
                        sample.add_milliseconds(now.since(first.since));
                        expected.pop_front();
                    }
                }
                Ok(())
            }
            Some(Event::Failure(failure)) => {
                bail!("{} cannot be read: {}", failure.view_id, failure.message)
            }
            None => bail!("the watcher has ended the stream"),
        }
    }

    /// Waits until all that is expected has come.
    pub(super) async fn settle(&mut self, deadline: Duration) -> Result<()> {
        let deadline = tokio::time::Instant::now() + deadline;
        while self.expected.values().any(|expected| !expected.is_empty()) {
            let received = timeout_at(deadline, self.receive()).await;
            received.context("changes do not arrive")??;
        }
        Ok(())
    }

    /// Forgets what was measured.
    pub(super) fn forget(&mut self) {
        self.hot = Sample::default();
        self.cold = Sample::default();
    }

    /// Of the hot services and of the others.
    pub(super) fn latencies(&self) -> (Sample, Sample) {
        (self.hot.clone(), self.cold.clone())
    }
}
