//! Many tasks on services of their own, which all change at once: row 14 of the table.

use anyhow::Result;

use crate::access::Access;
use crate::arguments::Modules;
use crate::cluster::ClusterSettings;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::hands::Hands;
use crate::played::played_watcher::PlayedWatcher;
use crate::renewals::{Renewals, SESSION_TTL};
use crate::site::services;
use crate::stage::{Plan, Stage};

/// Slots for the passes, which are not measured.
const SLOTS: u32 = 16;

pub(super) async fn run(stage: &mut Stage, tasks: u32, rounds: u32) -> Result<Vec<Metric>> {
    let plan = Plan {
        name: "decide",
        tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings {
            session_ttl: SESSION_TTL,
            ..ClusterSettings::default()
        }),
        access: Access::Open,
    };
    let site = stage.new_site_on(plan, tasks).await?;
    let watcher = PlayedWatcher::with_scheduler(stage, &site, 1).await?;
    let cluster = site.cluster()?;
    let scheduler = cluster.scheduler_address(0);
    let members = Members::new(cts_rpc::connect(scheduler)?);
    say("first pass");
    members.ready(tasks).await?;
    let mut hands = Hands::start(scheduler, SLOTS).await?;
    hands.all(tasks).await?;
    drop(hands);

    let [mut queued, mut sent, mut delay] = [(); 3].map(|()| Sample::default());
    for round in 1..=rounds {
        let renewals = Renewals::watch(cluster).await?;
        let begin = Moment::now();
        for service in services(tasks) {
            watcher.change(&service);
        }
        sent.add(Moment::now().since(begin).as_secs_f64());
        let full = members.ready(tasks).await?;
        queued.add(full.since(begin).as_secs_f64());
        delay.add(renewals.longest_delay().await?.as_secs_f64());
        say(&format!(
            "round {round} of {rounds}: {:.2} s",
            queued.last()
        ));
        let mut hands = Hands::start(scheduler, SLOTS).await?;
        hands.all(tasks).await?;
    }
    let usage = stage.usage()?;
    Ok(vec![
        Metric::new("queued_seconds", queued.median(), "s"),
        Metric::new("sent_seconds", sent.median(), "s"),
        Metric::new("renewal_delay_max", delay.percentile(100), "s"),
        Metric::new("rss", usage.rss, "MiB"),
    ])
}
