//! Runs that do nothing: row 6 of the table.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::access::Access;
use crate::arguments::{Modules, QueueArguments};
use crate::bare_loop;
use crate::cluster::ClusterSettings;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::measures::usage::Usage;
use crate::members::Members;
use crate::played::hands::Hands;
use crate::played::played_watcher::PlayedWatcher;
use crate::site::SERVICE;
use crate::stage::{Plan, Stage};

/// Task and service of the runs that come one at a time.
const SINGLE: &str = "single";

/// Slots for the first pass, which is not measured.
const WARM_UP_SLOTS: u32 = 16;

pub(super) async fn run(stage: &mut Stage, options: &QueueArguments) -> Result<Vec<Metric>> {
    let plan = Plan {
        name: "queue",
        tasks: options.tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings::default()),
        access: Access::Open,
    };
    let site = stage.new_site(plan).await?;
    site.add_task(SINGLE, SINGLE)?;
    let watcher = PlayedWatcher::with_scheduler(stage, &site, 1).await?;
    let cluster = site.cluster()?;
    let scheduler = cluster.scheduler_address(0).to_owned();
    let members = Members::new(cts_rpc::connect(&scheduler)?);
    let bench = Bench {
        stage,
        watcher,
        members,
        scheduler,
        database: cluster.database().to_owned(),
        tasks: options.tasks,
    };
    say("first pass");
    bench.members.ready(options.tasks + 1).await?;
    let mut hands = Hands::start(&bench.scheduler, WARM_UP_SLOTS).await?;
    hands.all(options.tasks + 1).await?;
    drop(hands);

    let mut metrics = Vec::new();
    let most = options.slots.iter().max();
    for slots in &options.slots {
        let suffix = if Some(slots) == most {
            String::new()
        } else {
            format!("_{slots}_slots")
        };
        let mut load = Load::default();
        for round in 1..=options.rounds {
            bench.load(*slots, &mut load).await?;
            say(&format!(
                "{slots} slots, round {round} of {}: {:.0}/s, bare {:.0}/s",
                options.rounds,
                load.per_second.last(),
                load.bare.last()
            ));
        }
        let mut pickup = Sample::default();
        bench.pick_up(*slots, options.pickups, &mut pickup).await?;
        metrics.extend(load.metrics(&suffix));
        for (name, percent) in [("pickup_p50", 50), ("pickup_p99", 99)] {
            let value = pickup.percentile(percent);
            metrics.push(Metric::new(format!("{name}{suffix}"), value, "ms"));
        }
    }
    Ok(metrics)
}

struct Bench<'a> {
    stage: &'a Stage,
    watcher: PlayedWatcher,
    members: Members,
    scheduler: String,
    database: String,
    tasks: u32,
}

impl Bench<'_> {
    /// Fills the queue, then lets the workers empty it; the same with the bare loop.
    async fn load(&self, slots: u32, load: &mut Load) -> Result<()> {
        let changed = self.watcher.change(SERVICE);
        let filled = self.members.ready(self.tasks).await?;
        load.fill_seconds.add(filled.since(changed).as_secs_f64());
        let before = self.usage()?;
        let mut hands = Hands::start(&self.scheduler, slots).await?;
        let end = hands.all(self.tasks).await?;
        let after = self.usage()?;
        let runs = f64::from(self.tasks);
        let seconds = end.since(hands.started).as_secs_f64();
        load.per_second.add(runs / seconds);
        for (sample, before, after) in [
            (&mut load.scheduler_cpu, before.scheduler, after.scheduler),
            (&mut load.postgres_cpu, before.postgres, after.postgres),
            (&mut load.bench_cpu, before.bench, after.bench),
        ] {
            let used = after.cpu.saturating_sub(before.cpu);
            sample.add(used.as_secs_f64() * 1e6 / runs);
        }
        drop(hands);
        self.watcher.change(SERVICE);
        self.members.ready(self.tasks).await?;
        let bare = bare_loop::run(&self.database, slots, self.tasks).await?;
        load.bare.add(bare);
        Ok(())
    }

    /// Picks up one run at a time, while all workers wait.
    async fn pick_up(&self, slots: u32, count: u32, pickup: &mut Sample) -> Result<()> {
        let mut hands = Hands::start(&self.scheduler, slots).await?;
        for number in 0..count {
            sleep(pause(number)).await;
            let changed = self.watcher.change(SINGLE);
            pickup.add_milliseconds(hands.next().await?.leased.since(changed));
        }
        Ok(())
    }

    fn usage(&self) -> Result<Usages> {
        Ok(Usages {
            scheduler: self.stage.usage()?,
            postgres: self.stage.postgres_usage()?,
            bench: Usage::of(nix::unistd::Pid::this())?,
        })
    }
}

/// 20 to 50 ms, every time the same sequence.
fn pause(number: u32) -> Duration {
    Duration::from_millis(20 + u64::from(number * 17 % 31))
}

struct Usages {
    scheduler: Usage,
    postgres: Usage,
    bench: Usage,
}

#[derive(Default)]
struct Load {
    per_second: Sample,
    bare: Sample,
    fill_seconds: Sample,
    scheduler_cpu: Sample,
    postgres_cpu: Sample,
    bench_cpu: Sample,
}

impl Load {
    fn metrics(&self, suffix: &str) -> Vec<Metric> {
        let metric = |name: &str, sample: &Sample, unit| {
            Metric::new(format!("{name}{suffix}"), sample.median(), unit)
        };
        let ratio = self.per_second.median() / self.bare.median();
        vec![
            metric("completed_per_second", &self.per_second, "1/s"),
            metric("bare_per_second", &self.bare, "1/s"),
            Metric::new(format!("completed_ratio{suffix}"), ratio, "1"),
            metric("scheduler_cpu_per_run", &self.scheduler_cpu, "us"),
            metric("postgres_cpu_per_run", &self.postgres_cpu, "us"),
            metric("bench_cpu_per_run", &self.bench_cpu, "us"),
            metric("fill_seconds", &self.fill_seconds, "s"),
        ]
    }
}
