//! One change, many tasks: row 12 of the table.

use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::access::Access;
use crate::arguments::Modules;
use crate::by_hand::ByHand;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::site::Site;
use crate::stage::{Plan, Stage, Version};

/// How many a patient person with two terminals applies at a time.
const HANDS: usize = 2;

const INSTANCES: u32 = 10;

pub(super) async fn run(
    stage: &mut Stage,
    tasks: u32,
    rounds: u32,
    modules: Modules,
) -> Result<Vec<Metric>> {
    let mut version = Version::FIRST;
    for instance in 0..INSTANCES {
        stage.register(instance, version).await?;
    }
    let plan = Plan {
        name: "fan-out",
        tasks,
        modules,
        cluster: None,
        access: Access::Open,
    };
    let site = stage.new_site(plan).await?;
    say("first pass");
    let (_, mut runs) = stage.start_cts(&site).await?;
    let count = site.tasks().len();
    runs.first_pass(count).await?;
    say("first pass by hand");
    let copies = copies(stage, &site)?;
    apply_all(&copies).await?;

    let mut seconds = Sample::default();
    let mut by_hand = Sample::default();
    let before = stage.usage()?;
    for round in 1..=rounds {
        version = version.next();
        let written = stage.register(round % INSTANCES, version).await?;
        let applied = runs.applied(count).await?;
        seconds.add(applied.since(written).as_secs_f64());

        for copy in &copies {
            copy.take_variables()?;
        }
        let started = Moment::now();
        apply_all(&copies).await?;
        by_hand.add(Moment::now().since(started).as_secs_f64());
        say(&format!("round {round} of {rounds}"));
    }
    let after = stage.usage()?;
    let cpu = after.cpu.saturating_sub(before.cpu) / rounds;
    Ok(vec![
        Metric::new("seconds", seconds.median(), "s"),
        Metric::new("by_hand_seconds", by_hand.median(), "s"),
        Metric::new("seconds_ratio", seconds.median() / by_hand.median(), "1"),
        Metric::new("cpu_seconds", cpu.as_secs_f64(), "s"),
        Metric::new("rss_embedded_peak", after.rss_peak, "MiB"),
    ])
}

fn copies(stage: &Stage, site: &Site) -> Result<Vec<ByHand>> {
    let terraform = stage.terraform_by_hand()?;
    let copy = |task: &String| {
        ByHand::prepared(
            &terraform,
            &site.task_directory(task),
            site.by_hand_directory(task),
            &format!("{task}-by-hand"),
        )
    };
    site.tasks().iter().map(copy).collect()
}

async fn apply_all(copies: &[ByHand]) -> Result<()> {
    let applies: Vec<_> = copies.iter().map(ByHand::apply).collect();
    stream::iter(applies)
        .buffer_unordered(HANDS)
        .try_collect()
        .await
}
