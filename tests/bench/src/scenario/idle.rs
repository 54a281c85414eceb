//! Many tasks and no change: row 5 of the table.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::access::Access;
use crate::arguments::{IdleArguments, Modules};
use crate::cluster::ClusterSettings;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::usage::Usage;
use crate::site::services;
use crate::stage::{Plan, Stage, Version};

const INSTANCES: u32 = 10;

/// Time after the first pass until everything has come to rest: the looks at the store are longest by then.
const REST: Duration = Duration::from_secs(30);

pub(super) async fn run(stage: &mut Stage, options: &IdleArguments) -> Result<Vec<Metric>> {
    for service in services(options.services.into()) {
        for instance in 0..INSTANCES {
            stage
                .register_for(&service, instance, Version::FIRST)
                .await?;
        }
    }
    let embedded = measure(stage, "embedded", options, None).await?;
    let cluster = Some(ClusterSettings::default());
    let total = measure(stage, "cluster", options, cluster).await?;
    let share = embedded.cpu_share.max(total.cpu_share);
    let mut metrics = vec![
        Metric::new("rss_embedded", embedded.usage.rss, "MiB"),
        Metric::new("rss_embedded_peak", embedded.usage.rss_peak, "MiB"),
        Metric::new("rss_total", total.usage.rss, "MiB"),
        Metric::new("rss_total_peak", total.usage.rss_peak, "MiB"),
        Metric::new("cpu_share", share, "%"),
        Metric::new("cpu_share_embedded", embedded.cpu_share, "%"),
        Metric::new("cpu_share_total", total.cpu_share, "%"),
        Metric::new("first_pass_embedded", embedded.first_pass, "s"),
        Metric::new("first_pass_cluster", total.first_pass, "s"),
    ];
    match total.usage.pss {
        Some(pss) => metrics.push(Metric::new("pss_total", pss, "MiB")),
        None => say("pss_total is left out: services of cts show it to root alone"),
    }
    Ok(metrics)
}

struct Idleness {
    usage: Usage,
    /// Percent of one processor.
    cpu_share: f64,
    first_pass: f64,
}

async fn measure(
    stage: &mut Stage,
    name: &str,
    options: &IdleArguments,
    cluster: Option<ClusterSettings>,
) -> Result<Idleness> {
    let plan = Plan {
        name,
        tasks: options.tasks,
        modules: Modules::Shared,
        cluster,
        access: Access::Open,
    };
    let site = stage.new_site_on(plan, options.services.into()).await?;
    say(&format!("{name}: first pass"));
    let (started, mut runs) = stage.start_cts(&site).await?;
    let applied = runs.first_pass(site.tasks().len()).await?;
    // Ends the stream of runs, which is idle now.
    drop(runs);
    say(&format!("{name}: rest"));
    sleep(REST).await;
    let (begin, before) = (Moment::now(), stage.usage()?);
    sleep(Duration::from_secs(options.seconds.into())).await;
    let (end, after) = (Moment::now(), stage.usage()?);
    for (process, usage) in stage.usages()? {
        say(&format!("{name}: {process} has {:.1} MiB", usage.rss));
    }
    stage.stop_cts().await?;
    let cpu = after.cpu.saturating_sub(before.cpu);
    Ok(Idleness {
        usage: after,
        cpu_share: 100.0 * cpu.as_secs_f64() / end.since(begin).as_secs_f64(),
        first_pass: applied.since(started).as_secs_f64(),
    })
}
