//! Thousands of services that one watcher follows: row 4 of the table.

mod catalog;
mod follower;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cts_testkit::{Authority, free_port};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use self::catalog::{Catalog, Write};
use self::follower::Follower;
use crate::arguments::WatchScaleArguments;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::measures::usage::Usage;
use crate::process::Launch;
use crate::sockets::connections_to;
use crate::stage::Stage;

/// Services that get nine tenths of the changes with `--skewed`.
const HOT: u32 = 50;
/// Time before the changes that count, in which the watcher learns which services change often.
const WARM_UP: Duration = Duration::from_secs(45);
/// Without any change.
const REST: Duration = Duration::from_secs(15);
/// How long changes may be under way after the last one.
const DEADLINE: Duration = Duration::from_mins(1);

const CONFIGURATION: &str = "cts.hcl";

pub(super) async fn run(stage: &mut Stage, options: &WatchScaleArguments) -> Result<Vec<Metric>> {
    let directory = stage.new_directory("watch-scale")?;
    let address = stage.consul()?.address();
    let port = address
        .rsplit_once(':')
        .and_then(|(_, port)| port.parse().ok());
    let mut port = port.with_context(|| format!("{address} has no port"))?;
    let mut consul = format!("address = \"{address}\"");
    if options.tls {
        let authority = Authority::new();
        let pair = authority.write_pair(&directory, "consul", &["127.0.0.1"]);
        let ca = directory.join("ca.pem");
        std::fs::write(&ca, authority.pem())?;
        port = free_port();
        stage
            .restart_consul_with_tls(port, &pair.cert, &pair.key)
            .await?;
        consul = format!(
            "address = \"127.0.0.1:{port}\"\n  tls {{ ca_cert = \"{}\" }}",
            ca.display()
        );
    }
    let text = format!("log_level = \"WARN\"\nconsul {{\n  {consul}\n}}\n");
    std::fs::write(directory.join(CONFIGURATION), text)?;
    let catalog = Catalog::new(&stage.consul()?.address(), options.services)?;
    say(&format!("registering {} instances", options.instances));
    catalog.fill(options.instances).await?;

    let mut bare = Sample::default();
    for _ in 0..3 {
        bare.add(catalog.read_all(options.connections).await?.as_secs_f64());
    }

    let address = format!("127.0.0.1:{}", free_port());
    let launch = Launch::new(
        "watcher",
        &[
            "watcher",
            "-config-file",
            CONFIGURATION,
            "-grpc-address",
            &address,
        ],
    );
    let watcher = stage.start_in(&directory, &launch)?;
    let mut follower = Follower::start(&address, options.services).await?;
    let subscribed = follower.first_snapshots().await?;
    say("every service is known");

    // Waits until the work that the subscription has caused is over.
    tokio::time::sleep(REST).await;
    let before = (watcher.usage()?, stage.consul_usage()?);
    tokio::time::sleep(REST).await;
    let after = (watcher.usage()?, stage.consul_usage()?);
    let mut metrics = vec![
        Metric::new("subscribe_seconds", subscribed.as_secs_f64(), "s"),
        Metric::new("bare_read_seconds", bare.median(), "s"),
        Metric::new("idle_cpu_share", share(REST, before.0, after.0), "1"),
        Metric::new("idle_consul_cpu_share", share(REST, before.1, after.1), "1"),
    ];

    let mut changes = Changes {
        catalog: &catalog,
        options,
        number: 0,
        writes: JoinSet::new(),
    };
    if options.skewed {
        say("warming up");
        changes.go_on(WARM_UP, &mut follower, |_| Ok(())).await?;
        follower.forget();
    }
    say("changes");
    let before = (watcher.usage()?, stage.consul_usage()?);
    let duration = Duration::from_secs(options.seconds.into());
    let mut connections_max = 0;
    changes
        .go_on(duration, &mut follower, |_| {
            connections_max = connections_max.max(connections_to(port)?);
            Ok(())
        })
        .await?;
    let after = (watcher.usage()?, stage.consul_usage()?);
    follower.settle(DEADLINE).await?;
    let (hot, cold) = follower.latencies();
    let mut all = Sample::default();
    for sample in [&hot, &cold] {
        all.extend(sample);
    }
    let thousands = f64::from(options.instances) / 1000.0;
    metrics.extend([
        Metric::new("delta_p50", all.median(), "ms"),
        Metric::new("delta_p99", all.percentile(99), "ms"),
        Metric::new(
            "delta_p99_ratio",
            all.percentile(99) / 1000.0 / bare.median(),
            "1",
        ),
        Metric::new("connections_max", f64::from(connections_max), "1"),
        Metric::new("rss_per_1000_instances", after.0.rss / thousands, "MiB"),
        Metric::new("rss", after.0.rss, "MiB"),
        Metric::new("cpu_share", share(duration, before.0, after.0), "1"),
        Metric::new("consul_cpu_share", share(duration, before.1, after.1), "1"),
        Metric::new(
            "consul_requests_per_second",
            catalog.requests_per_second().await?,
            "1/s",
        ),
    ]);
    if options.skewed {
        metrics.push(Metric::new("hot_p50", hot.median(), "ms"));
        metrics.push(Metric::new("hot_p99", hot.percentile(99), "ms"));
        metrics.push(Metric::new("cold_p99", cold.percentile(99), "ms"));
    }
    watcher.stop().await?;
    Ok(metrics)
}

/// The share of a core that was used over some time.
fn share(time: Duration, before: Usage, after: Usage) -> f64 {
    after.cpu.saturating_sub(before.cpu).as_secs_f64() / time.as_secs_f64()
}

/// Changes at a steady rate.
struct Changes<'a> {
    catalog: &'a Catalog,
    options: &'a WatchScaleArguments,
    number: u32,
    writes: JoinSet<()>,
}

impl Changes<'_> {
    async fn go_on(
        &mut self,
        duration: Duration,
        follower: &mut Follower,
        mut each_second: impl FnMut(u32) -> Result<()>,
    ) -> Result<()> {
        let rate = self.options.changes;
        let begun = Instant::now();
        let count = rate * u32::try_from(duration.as_secs()).context("a long time")?;
        for turn in 0..count {
            let due = begun + Duration::from_secs(1) * turn / rate;
            while Instant::now() < due {
                tokio::select! {
                    () = sleep_until(due) => {}
                    received = follower.receive() => received?,
                }
            }
            self.number += 1;
            let service = self.service();
            let version = i64::from(self.number) + 100_000;
            let is_hot = self.options.skewed && service < HOT;
            follower.expect(service, version, Moment::now(), is_hot);
            self.writes
                .spawn(self.catalog.write(Write { service, version }));
            while self.writes.try_join_next().is_some() {}
            if turn % rate == 0 {
                each_second(turn / rate)?;
            }
        }
        ensure!(self.catalog.failures() == 0, "Consul has refused writes");
        Ok(())
    }

    /// Each in turn, in an order that no two neighbours follow.
    fn service(&self) -> u32 {
        let services = self.options.services;
        if self.options.skewed && !self.number.is_multiple_of(10) {
            return self.number % HOT.min(services);
        }
        let turn = u64::from(self.number) * 7919 % u64::from(services);
        u32::try_from(turn).unwrap_or_default()
    }
}
