//! From nothing to the end of the first pass: row 10 of the table.

use anyhow::Result;

use crate::access::Access;
use crate::arguments::Modules;
use crate::by_hand::ByHand;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::site::Site;
use crate::stage::{Plan, Stage, Version};

const INSTANCES: u32 = 10;

pub(super) async fn run(
    stage: &mut Stage,
    tasks: u32,
    rounds: u32,
    modules: Modules,
) -> Result<Vec<Metric>> {
    for instance in 0..INSTANCES {
        stage.register(instance, Version::FIRST).await?;
    }
    let mut seconds = Sample::default();
    let mut by_hand = Sample::default();
    let mut processes = Sample::default();
    let mut cpu = Sample::default();
    let mut rss = Sample::default();
    for round in 1..=rounds {
        say(&format!("round {round} of {rounds}: cts"));
        let plan = Plan {
            name: &format!("round-{round}"),
            tasks,
            modules,
            cluster: None,
            access: Access::Open,
        };
        let site = stage.new_site(plan).await?;
        let started_before = stage.shim()?.starts()?.len();
        let (started, mut runs) = stage.start_cts(&site).await?;
        let applied = runs.first_pass(site.tasks().len()).await?;
        seconds.add(applied.since(started).as_secs_f64());
        let count = stage.shim()?.starts()?.len() - started_before;
        processes.add(f64::from(u32::try_from(count)?));
        let usage = stage.usage()?;
        cpu.add(usage.cpu.as_secs_f64());
        rss.add(usage.rss_peak);
        stage.stop_cts().await?;

        // The states have the same names, as they should to be comparable.
        stage.forget_states().await?;
        say(&format!("round {round} of {rounds}: by hand"));
        by_hand.add(first_pass_by_hand(stage, &site).await?);
        stage.forget_states().await?;
    }
    let ratio = seconds.median() / by_hand.median();
    Ok(vec![
        Metric::new("seconds", seconds.median(), "s"),
        Metric::new("by_hand_seconds", by_hand.median(), "s"),
        Metric::new("first_pass_ratio", ratio, "1"),
        Metric::new("terraform_processes", processes.median(), "1"),
        Metric::new("cpu_seconds", cpu.median(), "s"),
        Metric::new("rss_embedded_peak", rss.median(), "MiB"),
    ])
}

/// Seconds for all tasks, one after another.
async fn first_pass_by_hand(stage: &Stage, site: &Site) -> Result<f64> {
    let terraform = stage.terraform_by_hand()?;
    let copy = |task: &String| {
        let (from, to) = (site.task_directory(task), site.by_hand_directory(task));
        ByHand::unprepared(&terraform, &from, to)
    };
    let copies: Vec<ByHand> = site.tasks().iter().map(copy).collect::<Result<_>>()?;
    let started = Moment::now();
    for (task, copy) in site.tasks().iter().zip(&copies) {
        copy.init().await?;
        copy.new_workspace(task).await?;
        copy.apply().await?;
    }
    Ok(Moment::now().since(started).as_secs_f64())
}
