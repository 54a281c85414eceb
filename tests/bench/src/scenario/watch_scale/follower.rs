//! A subscriber of all services, with the changes that it should see.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use anyhow::{Context as _, Result};
use cts_core::{ServiceView, View};
use tokio::time::timeout_at;

use super::catalog::name;
use crate::measures::clock::Moment;
use crate::measures::sample::Sample;
use crate::played::watch_subscription::WatchSubscription;

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
    subscription: WatchSubscription,
    services: u32,
    /// Expected changes by the name of the service, the oldest first.
    expected: HashMap<String, VecDeque<Expected>>,
    hot: Sample,
    cold: Sample,
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
        let watcher = cts_rpc::connect(address)?;
        let subscription = WatchSubscription::open(&watcher, views).await?;
        Ok(Self {
            subscription,
            services,
            expected: HashMap::new(),
            hot: Sample::default(),
            cold: Sample::default(),
        })
    }

    /// Waits until every service is known; the time that took.
    pub(super) async fn first_snapshots(&mut self) -> Result<Duration> {
        let deadline = tokio::time::Instant::now() + FIRST;
        let mut known = HashSet::new();
        while known.len() < self.services as usize {
            let delta = timeout_at(deadline, self.subscription.next()).await;
            let delta = delta.with_context(|| format!("only {} are known", known.len()))??;
            if delta.complete {
                known.insert(delta.view_id);
            }
        }
        Ok(Moment::now().since(self.subscription.asked))
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
        let delta = self.subscription.next().await?;
        let now = Moment::now();
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

    /// Waits until all that is expected has come.
    pub(super) async fn settle(&mut self, deadline: Duration) -> Result<()> {
        let deadline = tokio::time::Instant::now() + deadline;
        while self.expected.values().any(|expected| !expected.is_empty()) {
            let received = timeout_at(deadline, self.receive()).await;
            received.context("changes do not arrive")??;
        }
        Ok(())
    }

    /// Forgets the measurements so far.
    pub(super) fn forget(&mut self) {
        self.hot = Sample::default();
        self.cold = Sample::default();
    }

    /// Latencies of the hot services and of the others.
    pub(super) fn latencies(&self) -> (Sample, Sample) {
        (self.hot.clone(), self.cold.clone())
    }
}
