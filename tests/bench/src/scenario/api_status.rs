//! Speed of the REST API for the status of many tasks: rows 7 and 16 of the table.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use tokio::time::sleep;

use crate::access::Access;
use crate::arguments::{ApiStatusArguments, Modules};
use crate::cluster::{Cluster, ClusterSettings};
use crate::http_client::HttpClient;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::askers;
use crate::played::busy::{self, Busy};
use crate::played::hands::Hands;
use crate::played::played_watcher::PlayedWatcher;
use crate::site::Site;
use crate::stage::{Plan, Stage, Version};

const PATH: &str = "/v1/status/tasks";

/// Time after the first pass until everything has come to rest.
const REST: Duration = Duration::from_secs(5);

/// Slots of the played workers that do the first pass.
const FIRST_PASS_SLOTS: u32 = 16;

/// Time before each measurement, whose requests do not count.
const WARM_UP: Duration = Duration::from_secs(2);

pub(super) async fn run(stage: &mut Stage, options: &ApiStatusArguments) -> Result<Vec<Metric>> {
    if options.busy {
        return measure_busy(stage, options).await;
    }
    stage.register(0, Version::FIRST).await?;
    let mut cluster = measure(stage, "cluster", options, true).await?;
    let embedded = measure(stage, "embedded", options, false).await?;
    let suffixed = embedded.into_iter().map(|metric| {
        Metric::new(
            format!("{}_embedded", metric.name),
            metric.value,
            metric.unit,
        )
    });
    cluster.extend(suffixed);
    Ok(cluster)
}

async fn measure(
    stage: &mut Stage,
    name: &str,
    options: &ApiStatusArguments,
    in_cluster: bool,
) -> Result<Vec<Metric>> {
    let plan = Plan {
        name,
        tasks: options.tasks,
        modules: Modules::Shared,
        cluster: in_cluster.then(ClusterSettings::default),
        access: options.access,
    };
    let site = stage.new_site(plan).await?;
    say(&format!("{name}: first pass"));
    let (_started, mut runs) = stage.start_cts(&site).await?;
    runs.first_pass(site.tasks().len()).await?;
    drop(runs);
    sleep(REST).await;
    let token = stage.token(&site).await?;
    if token.is_some() {
        // Gateways look for new tokens once a second.
        sleep(REST).await;
    }
    let mut clients = clients(&site, options.connections, token.as_deref()).await?;
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        load(&mut clients, WARM_UP).await?;
        let before = stage.usage()?;
        let measured = load(&mut clients, Duration::from_secs(options.seconds.into())).await?;
        let cpu = stage.usage()?.cpu.saturating_sub(before.cpu);
        say(&format!(
            "{name}, round {round} of {}: {:.0}/s",
            options.rounds,
            measured.per_second()
        ));
        rounds.push(measured.metrics(cpu));
    }
    drop(clients);
    stage.stop_cts().await?;
    Ok(crate::measures::report::median_of_rounds(&rounds))
}

/// Measures while transactions are committed that do not concern the requests.
async fn measure_busy(stage: &mut Stage, options: &ApiStatusArguments) -> Result<Vec<Metric>> {
    let plan = Plan {
        name: "busy",
        tasks: options.tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings::default()),
        access: Access::Open,
    };
    let site = stage.new_site(plan).await?;
    for number in 0..busy::SERVICES {
        let service = busy::service(number);
        site.add_task(&service, &service)?;
    }
    if options.waiting > 0 {
        site.configure("approval = \"always\"\n")?;
    }
    let watcher = PlayedWatcher::with_scheduler(stage, &site, 1).await?;
    let cluster = site.cluster()?;
    stage.launch(&site, &Cluster::gateway())?;
    let scheduler = cluster.scheduler_address(0);
    let count = options.tasks + u32::try_from(busy::SERVICES)?;
    say("first pass");
    Members::new(cts_rpc::connect(scheduler)?)
        .ready(count)
        .await?;
    askers::let_wait(scheduler, options.waiting).await?;
    let mut hands = Hands::start(scheduler, FIRST_PASS_SLOTS).await?;
    hands.all(count - options.waiting).await?;
    drop(hands);
    let mut busy = Busy::start(scheduler, watcher)?;
    sleep(REST).await;
    let mut clients = clients(&site, options.connections, None).await?;
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        load(&mut clients, WARM_UP).await?;
        let (before, transactions) = (stage.usage()?, stage.transactions().await?);
        let measured = load(&mut clients, Duration::from_secs(options.seconds.into())).await?;
        let cpu = stage.usage()?.cpu.saturating_sub(before.cpu);
        let transactions = u32::try_from(stage.transactions().await? - transactions)?;
        busy.check()?;
        let per_second = f64::from(transactions) / measured.seconds;
        say(&format!(
            "round {round} of {}: {:.0}/s",
            options.rounds,
            measured.per_second()
        ));
        let mut metrics = measured.metrics(cpu);
        metrics.push(Metric::new("transactions_per_second", per_second, "1/s"));
        rounds.push(metrics);
    }
    Ok(crate::measures::report::median_of_rounds(&rounds))
}

async fn clients(site: &Site, connections: u32, token: Option<&str>) -> Result<Vec<HttpClient>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, site.api_port()));
    let connect = (0..connections).map(|_| HttpClient::connect(address, PATH, token));
    try_join_all(connect).await
}

/// All clients ask one question after the other for some time.
async fn load(clients: &mut [HttpClient], time: Duration) -> Result<Load> {
    let begin = Moment::now();
    let asking = clients.iter_mut().map(|client| async move {
        let mut latencies = Vec::new();
        let mut bytes = 0;
        while Moment::now().since(begin) < time {
            let asked = Moment::now();
            bytes = client.ask().await?;
            latencies.push(Moment::now().since(asked));
        }
        anyhow::Ok((latencies, bytes))
    });
    let asked = try_join_all(asking).await?;
    let seconds = Moment::now().since(begin).as_secs_f64();
    let bytes = asked.iter().map(|(_, bytes)| *bytes).max();
    let latencies: Vec<Duration> = asked.into_iter().flat_map(|(all, _)| all).collect();
    Ok(Load {
        seconds,
        latencies,
        bytes: bytes.context("nobody asked")?,
    })
}

struct Load {
    seconds: f64,
    latencies: Vec<Duration>,
    /// Size of one answer.
    bytes: usize,
}

impl Load {
    fn count(&self) -> f64 {
        u32::try_from(self.latencies.len()).map_or(f64::NAN, f64::from)
    }

    fn per_second(&self) -> f64 {
        self.count() / self.seconds
    }

    fn metrics(&self, cpu: Duration) -> Vec<Metric> {
        let mut latencies = Sample::default();
        for latency in &self.latencies {
            latencies.add_milliseconds(*latency);
        }
        let kibibytes = u32::try_from(self.bytes).map_or(f64::NAN, f64::from) / 1024.0;
        vec![
            Metric::new("requests_per_second", self.per_second(), "1/s"),
            Metric::new("latency_p50", latencies.percentile(50), "ms"),
            Metric::new("latency_p99", latencies.percentile(99), "ms"),
            Metric::new(
                "cpu_per_request",
                cpu.as_secs_f64() * 1e6 / self.count(),
                "us",
            ),
            Metric::new("answer_size", kibibytes, "KiB"),
        ]
    }
}
