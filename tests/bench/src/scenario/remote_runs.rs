//! Runs on a server of Terraform that one worker follows.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cts_testkit::HcpServer;
use cts_testkit::hcp::{HcpAccess, HcpSettings, Phase};
use tokio::time::{Instant, sleep};

use crate::access::Access;
use crate::arguments::{Modules, RemoteRunsArguments};
use crate::clock::Moment;
use crate::cluster::ClusterSettings;
use crate::report::{Metric, say};
use crate::site::Site;
use crate::stage::{Plan, Stage, Version};
use crate::usage::Usage;

/// Requests that the server allows in a second, as those of HashiCorp do.
const LIMIT: u32 = 30;

/// Time after the last remote run has begun until everything has come to rest.
const REST: Duration = Duration::from_secs(30);

/// Longest time for all remote runs to begin.
const LONGEST_BEGIN: Duration = Duration::from_mins(30);

/// Between two looks at the server.
const LOOKS: Duration = Duration::from_secs(1);

pub(super) async fn run(stage: &mut Stage, options: &RemoteRunsArguments) -> Result<Vec<Metric>> {
    for instance in 0..options.instances {
        stage.register(instance, Version::FIRST).await?;
    }
    let plan = Plan {
        name: "remote-runs",
        tasks: options.runs,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings::default()),
        access: Access::Open,
    };
    let site = stage.new_site(plan).await?;
    let server = start_server(&site).await?;
    server.hold(Phase::Planning);
    let (started, mut runs) = stage.start_cts(&site).await?;
    say("the remote runs begin");
    let begun = all_plan(&server, &site).await?;

    say("rest");
    sleep(REST).await;
    server.forget_requests();
    let (begin, before) = (Moment::now(), worker(stage)?);
    sleep(Duration::from_secs(options.seconds.into())).await;
    let (end, after) = (Moment::now(), worker(stage)?);
    let seconds = end.since(begin).as_secs_f64();
    let requests = f64::from(u32::try_from(server.requests().len())?);

    say("the remote runs go on");
    let released = Moment::now();
    server.release(Phase::Planning);
    let applied = runs.first_pass(site.tasks().len()).await?;
    let at_end = worker(stage)?;
    let cpu = after.cpu.saturating_sub(before.cpu).as_secs_f64();
    Ok(vec![
        Metric::new("rss_worker", after.rss, "MiB"),
        Metric::new("rss_worker_peak", at_end.rss_peak, "MiB"),
        Metric::new("requests_per_second", requests / seconds, "1/s"),
        Metric::new("cpu_share_worker", 100.0 * cpu / seconds, "%"),
        Metric::new("begun_seconds", begun.since(started).as_secs_f64(), "s"),
        Metric::new("ended_seconds", applied.since(released).as_secs_f64(), "s"),
    ])
}

fn worker(stage: &Stage) -> Result<Usage> {
    let usages = stage.usages()?;
    let mut workers = usages
        .into_iter()
        .filter(|(name, _usage)| *name == "worker");
    let (_name, usage) = workers.next().context("the worker does not run")?;
    Ok(usage)
}

/// A server whose runs do nothing, as the driver of the site.
async fn start_server(site: &Site) -> Result<HcpServer> {
    let server = HcpServer::start_in(site.path(), HcpSettings::default()).await;
    server.limit_requests(Some(LIMIT));
    site.drive(&HcpAccess::of_stub(&server, site.path()).driver("cts-", ""))?;
    Ok(server)
}

/// Waits until each task has a run that plans.
async fn all_plan(server: &HcpServer, site: &Site) -> Result<Moment> {
    let began = Instant::now();
    let mut left: Vec<String> = site
        .tasks()
        .iter()
        .map(|task| format!("cts-{task}"))
        .collect();
    while !left.is_empty() {
        ensure!(
            began.elapsed() < LONGEST_BEGIN,
            "{} remote runs have not begun",
            left.len()
        );
        let plans = |workspace: &String| {
            let mut runs = server.runs(workspace).into_iter();
            runs.any(|run| run.phase == Phase::Planning)
        };
        left.retain(|workspace| !plans(workspace));
        sleep(LOOKS).await;
    }
    Ok(Moment::now())
}
