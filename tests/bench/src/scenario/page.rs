//! The page of the gateway: row 21 of the table.

mod views;

use std::time::Duration;

use anyhow::Result;

use crate::arguments::PageArguments;
use crate::browser::Browser;
use crate::measures::report::{Metric, median_of_rounds, say};
use crate::played::changes::{Changes, compared, queued_tasks};
use crate::played::held_runs::HeldRuns;
use crate::played::page_readers::PageReaders;
use crate::site::Site;
use crate::stage::Stage;

/// Lines that are written at once.
const BATCH: u32 = 1000;

pub(super) async fn run(stage: &mut Stage, options: &PageArguments) -> Result<Vec<Metric>> {
    let (site, watcher) = queued_tasks(stage, options.tasks, "").await?;
    let run = run_with_log(&site, options.lines).await?;
    let mut changes = Changes::start(&site, watcher, options.tasks - 1).await?;
    let page = format!("http://127.0.0.1:{}/ui/", site.api_port());
    let browser = Browser::start().await?;
    let mut metrics = views::overview(&browser, &page, options.loads).await?;
    let line = format!("L{}", options.lines / 2);
    metrics.extend(views::line(&browser, (&page, &run, &line), options.loads).await?);
    let time = Duration::from_secs(options.watched.into());
    for (prefix, screen) in [("", ""), ("grid_", "tasks")] {
        let address = format!("{page}{screen}");
        metrics.extend(views::watched(&browser, &address, prefix, (&mut changes, time)).await?);
    }
    browser.end().await?;
    metrics.extend(readers(&page, &mut changes, options).await?);
    Ok(metrics)
}

/// Gives one run a log of this length, and reports it as applied; returns its id.
async fn run_with_log(site: &Site, lines: u32) -> Result<String> {
    say("the longest log");
    let scheduler = cts_rpc::connect(site.cluster()?.scheduler_address(0))?;
    let held = HeldRuns::take(scheduler, 1).await?;
    let id = held.ids().collect();
    for first in (1..=lines).step_by(BATCH as usize) {
        let last = lines.min(first + BATCH - 1);
        let line =
            |number| format!("terraform_data.instance[\"web-{number}\"]: Refreshing state...");
        held.write_all(0, (first..=last).map(line)).await?;
    }
    held.complete().await?;
    Ok(id)
}

/// Changes beside readers and beside nobody, in turn.
async fn readers(
    page: &str,
    changes: &mut Changes,
    options: &PageArguments,
) -> Result<Vec<Metric>> {
    let time = Duration::from_secs(options.seconds.into());
    let mut rounds = Vec::new();
    for round in 1..=options.rounds {
        let alone = changes.measure(time).await?;
        let readers = PageReaders::start(page, options.readers).await?;
        let beside = changes.measure(time).await?;
        let answers = readers.end()?;
        say(&format!(
            "round {round} of {}: change to queued p99 {:.1} ms alone, {:.1} ms beside readers",
            options.rounds,
            alone.percentile(99),
            beside.percentile(99),
        ));
        let mut metrics = compared(&alone, &beside);
        metrics.extend([
            Metric::new("fragment_p50", answers.percentile(50), "ms"),
            Metric::new("fragment_p99", answers.percentile(99), "ms"),
        ]);
        rounds.push(metrics);
    }
    Ok(median_of_rounds(&rounds))
}
