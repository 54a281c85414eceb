//! One change at a time: rows 1, 2 and 3 of the table.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tokio::task;
use tokio::time::sleep;

use crate::arguments::{ChangeToApplyArguments, Modules};
use crate::by_hand::ByHand;
use crate::cluster::ClusterSettings;
use crate::consul_query::BareQuery;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, median_of_rounds, say};
use crate::measures::sample::Sample;
use crate::runs::Runs;
use crate::site::{SERVICE, Site};
use crate::stage::{Plan, Stage, Version};

/// Changes between two lines of progress.
const PROGRESS_EVERY: u32 = 25;

/// The subject of the task's condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Watched {
    /// A service by its name.
    Name,
    /// All services whose names match, which is the same one.
    Expression,
}

pub(super) async fn run(
    stage: &mut Stage,
    options: &ChangeToApplyArguments,
    watched: Watched,
) -> Result<Vec<Metric>> {
    let ChangeToApplyArguments {
        changes,
        instances,
        rounds,
        cluster,
        access,
        rules,
    } = *options;
    let mut version = Version::FIRST;
    for instance in 0..instances {
        stage.register(instance, version).await?;
    }
    let mut results = Vec::new();
    for round in 1..=rounds {
        let plan = Plan {
            name: &format!("round-{round}"),
            tasks: 1,
            modules: Modules::Shared,
            cluster: cluster.then(ClusterSettings::default),
            access,
        };
        let site = stage.new_site(plan).await?;
        if watched == Watched::Expression {
            site.watch(&format!("regexp = \"^{SERVICE}$\""))?;
        }
        if rules {
            site.configure("approval = \"destroy\"\n")?;
        }
        let (begun, mut runs) = stage.start_cts(&site).await?;
        runs.first_pass(1).await?;
        let first_applied = Moment::now().since(begun);
        let mut times = Times {
            lateness: task::block_in_place(|| stage.shim()?.lateness())?,
            ..Times::default()
        };
        let before = stage.usage()?;
        let bench = Bench::prepare(stage, &site).await?;
        let mut query = BareQuery::start(&stage.consul()?.address(), SERVICE)?;
        query.answered_with(&version.text()).await?;
        for change in 0..changes {
            version = version.next();
            sleep(pause(2 * change)).await;
            bench
                .change(
                    &mut runs,
                    &mut query,
                    change % instances,
                    version,
                    &mut times,
                )
                .await?;
            sleep(pause(2 * change + 1)).await;
            bench.apply_by_hand(&mut times).await?;
            if (change + 1) % PROGRESS_EVERY == 0 {
                say(&format!("round {round}: {} changes", change + 1));
            }
        }
        drop(bench);
        let after = stage.usage()?;
        let mut metrics = times.metrics();
        let cpu = after.cpu.saturating_sub(before.cpu).as_secs_f64();
        metrics.push(Metric::new("cpu_seconds", cpu, "s"));
        metrics.push(Metric::new(
            "first_applied_seconds",
            first_applied.as_secs_f64(),
            "s",
        ));
        let rss = if cluster {
            "rss_total_peak"
        } else {
            "rss_embedded_peak"
        };
        metrics.push(Metric::new(rss, after.rss_peak, "MiB"));
        results.push(metrics);
        stage.stop_cts().await?;
        stage.forget_states().await?;
    }
    Ok(median_of_rounds(&results))
}

/// 150 to 250 ms, every time the same sequence.
fn pause(number: u32) -> Duration {
    Duration::from_millis(150 + u64::from(number * 37 % 101))
}

/// State that stays the same from change to change.
struct Bench<'a> {
    stage: &'a Stage,
    by_hand: ByHand,
}

impl<'a> Bench<'a> {
    async fn prepare(stage: &'a Stage, site: &Site) -> Result<Self> {
        let task = site.tasks().first().context("there is no task")?;
        let by_hand = ByHand::prepared(
            &stage.terraform_by_hand()?,
            &site.task_directory(task),
            site.by_hand_directory(task),
            &format!("{task}-by-hand"),
        )?;
        by_hand.apply().await?;
        Ok(Self { stage, by_hand })
    }

    async fn change(
        &self,
        runs: &mut Runs,
        query: &mut BareQuery,
        instance: u32,
        version: Version,
        times: &mut Times,
    ) -> Result<()> {
        let written = self.stage.register(instance, version).await?;
        let applied = runs.applied(1).await?;
        // Its answer was noted when it came.
        let woken = query.answered_with(&version.text()).await?;
        let starts = self.stage.shim()?.applies_since(written)?;
        let [start] = starts.as_slice() else {
            bail!("one change started Terraform {} times", starts.len());
        };
        times.wakeup.add_milliseconds(woken.since(written));
        times.start.add_milliseconds(start.at.since(written));
        times
            .start_after_wakeup
            .add(milliseconds(start.at.since(written)) - milliseconds(woken.since(written)));
        times.applied.add_milliseconds(applied.since(written));
        times
            .start_to_applied
            .add_milliseconds(applied.since(start.at));
        Ok(())
    }

    async fn apply_by_hand(&self, times: &mut Times) -> Result<()> {
        self.by_hand.take_variables()?;
        let before = Moment::now();
        self.by_hand.apply().await?;
        let after = Moment::now();
        if self.stage.shim()?.applies_since(before)?.len() != 1 {
            bail!("cts started Terraform during an apply by hand");
        }
        times.by_hand.add_milliseconds(after.since(before));
        Ok(())
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[derive(Default)]
struct Times {
    wakeup: Sample,
    start: Sample,
    start_after_wakeup: Sample,
    applied: Sample,
    start_to_applied: Sample,
    by_hand: Sample,
    /// How late the shim notes the start of a process.
    lateness: Sample,
}

impl Times {
    fn metrics(&self) -> Vec<Metric> {
        let ratio = self.applied.median() / self.by_hand.median();
        let (start, applied) = (&self.start, &self.applied);
        // The shim notes the moment at which its own code runs. The process has existed since then for
        // as long as it takes to load it.
        let lateness = self.lateness.median();
        vec![
            Metric::new("wakeup_p50", self.wakeup.median(), "ms"),
            Metric::new("wakeup_p99", self.wakeup.percentile(99), "ms"),
            Metric::new("write_to_start_p50", start.median() - lateness, "ms"),
            Metric::new("write_to_start_p99", start.percentile(99) - lateness, "ms"),
            Metric::new(
                "start_after_wakeup_p50",
                self.start_after_wakeup.median() - lateness,
                "ms",
            ),
            Metric::new("write_to_applied_p50", applied.median(), "ms"),
            Metric::new("write_to_applied_p99", applied.percentile(99), "ms"),
            Metric::new("start_to_applied_p50", self.start_to_applied.median(), "ms"),
            Metric::new("bare_apply_p50", self.by_hand.median(), "ms"),
            Metric::new("shim_lateness_p50", lateness, "ms"),
            Metric::new("apply_ratio", ratio, "1"),
        ]
    }
}
