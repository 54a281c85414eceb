//! One change that many subscribers of a watcher wait for.

use std::time::Duration;

use anyhow::{Context as _, Result};
use cts_core::{ServiceView, View};
use cts_testkit::free_port;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::arguments::WatchFanoutArguments;
use crate::clock::Moment;
use crate::consul_query::BareQuery;
use crate::process::Launch;
use crate::report::{Metric, say};
use crate::sample::Sample;
use crate::site::SERVICE;
use crate::stage::{Stage, Version};
use crate::watch_subscription::WatchSubscription;

const CONFIGURATION: &str = "cts.hcl";
const INSTANCES: u32 = 10;
/// Subscribers of one connection; a server allows 200 streams by default.
const PER_CONNECTION: usize = 100;
/// Time between two changes.
const PAUSE: Duration = Duration::from_millis(200);
/// Time for all subscribers to see a change.
const DEADLINE: Duration = Duration::from_secs(30);

pub(super) async fn run(stage: &mut Stage, options: &WatchFanoutArguments) -> Result<Vec<Metric>> {
    let mut version = Version::FIRST;
    for instance in 0..INSTANCES {
        stage.register(instance, version).await?;
    }
    let directory = stage.new_directory("watch-fanout")?;
    let consul = stage.consul()?.address();
    let text = format!("log_level = \"WARN\"\nconsul {{\n  address = \"{consul}\"\n}}\n");
    std::fs::write(directory.join(CONFIGURATION), text)?;
    let address = format!("127.0.0.1:{}", free_port());
    let arguments = [
        "watcher",
        "-config-file",
        CONFIGURATION,
        "-grpc-address",
        &address,
    ];
    let watcher = stage.start_in(&directory, &Launch::new("watcher", &arguments))?;

    let (seen, mut arrivals) = mpsc::unbounded_channel();
    let mut subscribers = JoinSet::new();
    let count = options.subscribers as usize;
    for _ in 0..count.div_ceil(PER_CONNECTION) {
        let channel = cts_rpc::connect(&address)?;
        for _ in 0..PER_CONNECTION.min(count - subscribers.len()) {
            let subscription = WatchSubscription::open(&channel, [view()]).await?;
            subscribers.spawn(follow(subscription, seen.clone()));
        }
    }
    say("every subscriber follows");
    // The first snapshot of each.
    all(&mut arrivals, count).await?;

    let mut query = BareQuery::start(&consul, SERVICE)?;
    query.answered_with(&version.text()).await?;
    let (mut each, mut last, mut bare) = (Sample::default(), Sample::default(), Sample::default());
    let before = watcher.usage()?;
    for change in 0..options.changes {
        sleep(PAUSE).await;
        version = version.next();
        let written = stage.register(change % INSTANCES, version).await?;
        let moments = all(&mut arrivals, count).await?;
        let answered = query.answered_with(&version.text()).await?;
        bare.add_milliseconds(answered.since(written));
        let since = moments.iter().map(|moment| moment.since(written));
        last.add_milliseconds(since.clone().max().unwrap_or_default());
        since.for_each(|since| each.add_milliseconds(since));
    }
    let after = watcher.usage()?;
    let cpu = after.cpu.saturating_sub(before.cpu) / options.changes;
    watcher.stop().await?;
    Ok(vec![
        Metric::new("each_p50", each.median(), "ms"),
        Metric::new("each_p99", each.percentile(99), "ms"),
        Metric::new("last_p50", last.median(), "ms"),
        Metric::new("last_p99", last.percentile(99), "ms"),
        Metric::new("bare_wakeup_p50", bare.median(), "ms"),
        Metric::new("cpu_per_change", cpu.as_secs_f64() * 1000.0, "ms"),
        Metric::new("rss", after.rss, "MiB"),
    ])
}

fn view() -> View {
    View::Service(ServiceView {
        name: SERVICE.to_owned(),
        datacenter: String::new(),
        namespace: String::new(),
        filter: String::new(),
    })
}

/// Says when each delta has come.
async fn follow(
    mut subscription: WatchSubscription,
    seen: mpsc::UnboundedSender<Moment>,
) -> Result<()> {
    loop {
        let delta = subscription.next().await?;
        if delta.complete {
            seen.send(Moment::now())?;
        }
    }
}

/// One arrival of each subscriber.
async fn all(arrivals: &mut mpsc::UnboundedReceiver<Moment>, count: usize) -> Result<Vec<Moment>> {
    let mut moments = Vec::with_capacity(count);
    while moments.len() < count {
        let moment = timeout(DEADLINE, arrivals.recv()).await;
        let moment =
            moment.with_context(|| format!("only {} subscribers saw it", moments.len()))?;
        moments.push(moment.context("the subscribers are gone")?);
    }
    Ok(moments)
}
