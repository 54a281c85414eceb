//! Views behind a proxy that ends quiet connections.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use cts_core::{ServiceView, View};
use cts_proto::watch::v1::ViewDelta;
use cts_proto::watch::v1::watch_response::Event;
use cts_testkit::{Link, TcpProxy, free_port};
use tokio::time::{Instant, timeout_at};

use crate::arguments::CutQueriesArguments;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::played::watch_subscription::WatchSubscription;
use crate::process::Launch;
use crate::site::services;
use crate::stage::{Stage, Version};

const CONFIGURATION: &str = "cts.hcl";
/// Name of the watcher and of its log.
const WATCHER: &str = "watcher";
/// Time for all first snapshots.
const FIRST: Duration = Duration::from_mins(1);
/// A view whose change takes longer is blind.
const SEEN: Duration = Duration::from_secs(2);
/// Connections that the watcher may have for each view. Some are for reads and not for blocking queries.
const CONNECTIONS: u32 = 2;
/// Connections beyond that.
const FURTHER: u32 = 20;
/// A line of the log about an outage has both texts.
const OUTAGE: [&str; 2] = ["Consul at ", " is unreachable: "];

pub(super) async fn run(stage: &mut Stage, options: &CutQueriesArguments) -> Result<Vec<Metric>> {
    let names: Vec<String> = services(options.views).collect();
    say(&format!("registering {} services", names.len()));
    for name in &names {
        stage.register_for(name, 0, Version::FIRST).await?;
    }
    let consul: SocketAddr = stage.consul()?.address().parse()?;
    let proxy = TcpProxy::start(consul).await;
    let limit = Duration::from_secs(options.cut.into());
    proxy.set_link(Link::EndsQuiet(limit));

    let directory = stage.new_directory("cut-queries")?;
    let text = format!(
        "log_level = \"INFO\"\nconsul {{\n  address = \"{}\"\n  transport {{\n    max_conns_per_host = {}\n  }}\n}}\n",
        proxy.address(),
        options.views * CONNECTIONS + FURTHER
    );
    fs::write(directory.join(CONFIGURATION), text)?;
    let address = format!("127.0.0.1:{}", free_port());
    let arguments = [WATCHER, "-config-file", CONFIGURATION, "-grpc-address"];
    let launch = Launch::new(WATCHER, &[&arguments[..], &[&address]].concat());
    let begun = Instant::now();
    let watcher = stage.start_in(&directory, &launch)?;
    let mut views = Views::subscribe(&address, &names).await?;
    views.first_snapshots(names.len()).await?;
    say("every view is known");

    let end = begun + Duration::from_secs(options.seconds.into());
    let pause = Duration::from_secs(options.change_every.into());
    let (mut version, mut changes) = (Version::FIRST, 0_u32);
    let mut turns = names.iter().cycle();
    let mut next = Instant::now() + pause;
    while next + SEEN < end {
        views.follow_until(next).await?;
        let name = turns.next().context("there are no views")?;
        if changes.is_multiple_of(options.views) {
            version = version.next();
        }
        let written = stage.register_for(name, 0, version).await?;
        views.expect(name, version, written);
        changes += 1;
        next += pause;
    }
    views.follow_until(end).await?;
    let requests = u32::try_from(proxy.reads())?;
    let cuts = u32::try_from(proxy.ended())?;
    watcher.stop().await?;

    let wait = Duration::from_secs((limit * 4 / 5).as_secs());
    let cost = requests_of_wait(options, wait, changes);
    Ok(vec![
        Metric::new("requests", requests.into(), "1"),
        Metric::new("wait", wait.as_secs_f64(), "s"),
        Metric::new("requests_of_wait", cost, "1"),
        Metric::new("requests_ratio", f64::from(requests) / cost, "1"),
        Metric::new("cuts", cuts.into(), "1"),
        Metric::new("outages", outages(&directory)?.into(), "1"),
        Metric::new("blind_views", views.blind()?.into(), "1"),
        Metric::new("changes", changes.into(), "1"),
        Metric::new("delta_p50", views.latencies.median(), "ms"),
        Metric::new("delta_p99", views.latencies.percentile(99), "ms"),
    ])
}

/// Requests of queries that wait for `wait` from the start.
fn requests_of_wait(options: &CutQueriesArguments, wait: Duration, changes: u32) -> f64 {
    // Consul adds a random part of a sixteenth.
    let waits = f64::from(options.seconds) / (wait.as_secs_f64() * 33.0 / 32.0);
    f64::from(options.views) * (1.0 + waits) + f64::from(changes)
}

/// Lines about outages in the log of the watcher.
fn outages(directory: &Path) -> Result<u32> {
    let log = fs::read_to_string(directory.join(format!("{WATCHER}.log")))?;
    let lines = log.lines();
    let outages = lines.filter(|line| OUTAGE.iter().all(|text| line.contains(text)));
    Ok(u32::try_from(outages.count())?)
}

/// A subscription to all views, with the changes that it should receive.
#[derive(Debug)]
struct Views {
    subscription: WatchSubscription,
    /// Last written version of each changed view, until it is received, and the moment of its write.
    expected: HashMap<String, (String, Moment)>,
    /// Views that failed, or whose change came late or never.
    blind: HashSet<String>,
    latencies: Sample,
}

impl Views {
    async fn subscribe(address: &str, names: &[String]) -> Result<Self> {
        let views = names.iter().map(|name| view(name));
        let watcher = cts_rpc::connect(address)?;
        Ok(Self {
            subscription: WatchSubscription::open(&watcher, views).await?,
            expected: HashMap::new(),
            blind: HashSet::new(),
            latencies: Sample::default(),
        })
    }

    async fn first_snapshots(&mut self, count: usize) -> Result<()> {
        let deadline = Instant::now() + FIRST;
        let mut known = HashSet::new();
        while known.len() < count {
            let delta = timeout_at(deadline, self.subscription.next()).await;
            let delta = delta.with_context(|| format!("only {} are known", known.len()))??;
            if delta.complete {
                known.insert(delta.view_id);
            }
        }
        Ok(())
    }

    fn expect(&mut self, service: &str, version: Version, written: Moment) {
        let expected = (version.text(), written);
        let id = view(service).id().as_str().to_owned();
        self.expected.insert(id, expected);
    }

    /// Takes all events until then.
    async fn follow_until(&mut self, moment: Instant) -> Result<()> {
        while let Ok(event) = timeout_at(moment, self.subscription.next_event()).await {
            match event? {
                Event::Delta(delta) => self.received(delta),
                Event::Failure(failure) => {
                    say(&format!("{}: {}", failure.view_id, failure.message));
                    self.blind.insert(failure.view_id);
                }
                Event::Read(_) => {}
            }
        }
        Ok(())
    }

    fn received(&mut self, delta: ViewDelta) {
        let now = Moment::now();
        let Some((version, written)) = self.expected.get(&delta.view_id) else {
            return;
        };
        let mut instances = delta.upserts.iter();
        if instances.any(|instance| instance.meta.get("version") == Some(version)) {
            let took = now.since(*written);
            self.latencies.add_milliseconds(took);
            self.expected.remove(&delta.view_id);
            if took > SEEN {
                self.blind.insert(delta.view_id);
            }
        }
    }

    /// Number of blind views at the end. A change that has not come counts.
    fn blind(&self) -> Result<u32> {
        let missing = self.expected.keys();
        let blind: HashSet<&String> = self.blind.iter().chain(missing).collect();
        Ok(u32::try_from(blind.len())?)
    }
}

fn view(service: &str) -> View {
    View::Service(ServiceView {
        name: service.to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_costs_one_request_at_the_start_and_one_after_each_wait() {
        let options = CutQueriesArguments {
            views: 10,
            cut: 20,
            seconds: 330,
            change_every: 5,
        };
        // A wait of 16 s takes 16.5 s.
        let cost = requests_of_wait(&options, Duration::from_secs(16), 7);
        assert!((cost - 217.0).abs() < 1e-9, "{cost}");
    }

    #[test]
    fn the_lines_of_an_outage_are_counted_without_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let log = "[WARN]  watcher: Consul at a:1 is unreachable: connection refused; since 10:00:00\n\
                   [INFO]  watcher: Consul at a:1 is reachable again after 3s\n";
        fs::write(directory.path().join("watcher.log"), log).unwrap();
        assert_eq!(outages(directory.path()).unwrap(), 1);
    }
}
