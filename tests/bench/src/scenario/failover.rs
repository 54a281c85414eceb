//! Workers and schedulers that are lost: rows 8 and 9 of the table.

mod schedulers;
mod workers;

use std::time::Duration;

use anyhow::Result;

use crate::access::Access;
use crate::arguments::{FailoverArguments, Modules};
use crate::cluster::{Cluster, ClusterSettings};
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::runs::Runs;
use crate::stage::{Plan, Stage, Version};

/// Instances of the service.
const INSTANCES: u32 = 3;

/// One scheduler may be lost.
const SCHEDULERS: usize = 2;

pub(super) async fn run(stage: &mut Stage, options: &FailoverArguments) -> Result<Vec<Metric>> {
    let lease_ttl = Duration::from_secs(options.lease_ttl.into());
    let session_ttl = Duration::from_secs(options.session_ttl.into());
    let mut version = Version::FIRST;
    for instance in 0..INSTANCES {
        stage.register(instance, version).await?;
    }
    let plan = Plan {
        name: "failover",
        tasks: 1,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings {
            schedulers: SCHEDULERS,
            lease_ttl,
            session_ttl,
            ..ClusterSettings::default()
        }),
        access: Access::Open,
    };
    let site = stage.new_site(plan).await?;
    stage.migrate(&site).await?;
    let cluster = site.cluster()?;
    stage.launch(&site, &cluster.watcher())?;
    for index in 0..SCHEDULERS {
        stage.launch(&site, &cluster.scheduler(&site, index)?)?;
    }
    stage.launch(&site, &Cluster::worker())?;
    let mut runs = Runs::follow(cts_rpc::connect(cluster.scheduler_address(0))?).await?;
    let members = Members::new(runs.channel());
    members.healthy(SCHEDULERS).await?;
    runs.first_pass(1).await?;

    say("workers are killed");
    let recovery = workers::lose(stage, &site, options.rounds, lease_ttl, &mut version).await?;
    say("leaders are killed");
    let loss = schedulers::Loss::Crash;
    let crash = schedulers::lose(stage, &site, options.rounds, loss, &mut version).await?;
    say("leaders are stopped");
    let loss = schedulers::Loss::CleanStop;
    let clean = schedulers::lose(stage, &site, options.rounds, loss, &mut version).await?;

    let beyond = |sample: &Sample, ttl: Duration| sample.median() - ttl.as_secs_f64();
    Ok(vec![
        Metric::new("worker_recovery", recovery.median(), "s"),
        Metric::new("worker_recovery_max", recovery.percentile(100), "s"),
        Metric::new(
            "worker_recovery_beyond_ttl",
            beyond(&recovery, lease_ttl),
            "s",
        ),
        Metric::new("takeover_crash", crash.queued.median(), "s"),
        Metric::new("takeover_crash_max", crash.queued.percentile(100), "s"),
        Metric::new(
            "takeover_crash_beyond_ttl",
            beyond(&crash.queued, session_ttl),
            "s",
        ),
        Metric::new("takeover_crash_led", crash.led.median(), "s"),
        Metric::new("takeover_clean", clean.queued.median(), "s"),
        Metric::new("takeover_clean_max", clean.queued.percentile(100), "s"),
        Metric::new("takeover_clean_led", clean.led.median(), "s"),
    ])
}
