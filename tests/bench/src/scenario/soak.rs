//! Steady changes for a long time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use sqlx::{Connection as _, PgConnection};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::access::Access;
use crate::arguments::{Modules, SoakArguments};
use crate::cluster::ClusterSettings;
use crate::measures::report::{Metric, say};
use crate::site::{Site, services};
use crate::stage::{Plan, Stage, Version};

const SAMPLED_EVERY: Duration = Duration::from_secs(15);

/// One in ten tasks.
const FAILING: &str = "7";

const MEBIBYTE: f64 = 1024.0 * 1024.0;

pub(super) async fn run(stage: &mut Stage, options: &SoakArguments) -> Result<Vec<Metric>> {
    let kept = Duration::from_mins(options.kept.into());
    let settings = ClusterSettings {
        runs_kept_for: Some(kept),
        ..ClusterSettings::default()
    };
    let plan = Plan {
        name: "soak",
        tasks: options.tasks,
        modules: Modules::Shared,
        cluster: (!options.embedded).then_some(settings),
        access: Access::Open,
    };
    let site = stage.new_site_on(plan, options.tasks).await?;
    if options.embedded {
        let text = format!(
            "\nscheduler {{\n  runs_kept_for = \"{}m\"\n}}\n",
            options.kept
        );
        site.configure(&text)?;
    }
    let services: Vec<String> = services(options.tasks).collect();
    for service in &services {
        stage.register_for(service, 0, Version::FIRST).await?;
    }
    say("first pass");
    let (_started, mut runs) = stage.start_cts(&site).await?;
    runs.first_pass(site.tasks().len()).await?;
    // The stream of runs ends with the first failure.
    drop(runs);
    stage.shim()?.fail_applies(FAILING)?;
    let mut database = match site.cluster() {
        Ok(cluster) => Some(PgConnection::connect(cluster.database()).await?),
        Err(_embedded) => None,
    };

    let mut series = Series::default();
    let begin = Instant::now();
    let length = Duration::from_mins(options.minutes.into());
    let mut ticks = interval(Duration::from_secs(1) / options.changes);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut version, mut changes, mut next) = (Version::FIRST, 0_u32, SAMPLED_EVERY);
    // With a step that has no divisor in common with their number, each has its turn.
    let mut turns = services.iter().cycle().step_by(7);
    while begin.elapsed() < length {
        ticks.tick().await;
        let service = turns.next().context("there are no tasks")?;
        version = version.next();
        stage.register_for(service, 0, version).await?;
        changes += 1;
        if begin.elapsed() >= next {
            next += SAMPLED_EVERY;
            let sample = sample(stage, &site, database.as_mut()).await?;
            say(&format!(
                "{:>5.1} min: {sample:.1?}",
                begin.elapsed().as_secs_f64() / 60.0
            ));
            series.add(begin.elapsed().as_secs_f64() / length.as_secs_f64(), sample);
        }
    }
    let per_second = f64::from(changes) / begin.elapsed().as_secs_f64();
    let mut metrics = series.metrics();
    metrics.push(Metric::new("changes_per_second", per_second, "1/s"));
    if let Some(database) = database {
        database.close().await?;
    }
    stage.stop_cts().await?;
    Ok(metrics)
}

/// Values by name; all except counts are in mebibytes.
type Values = BTreeMap<String, f64>;

async fn sample(stage: &Stage, site: &Site, database: Option<&mut PgConnection>) -> Result<Values> {
    let mut values = Values::new();
    for (process, usage) in stage.usages()? {
        values.insert(format!("{process}_rss"), usage.rss);
        values.insert(format!("{process}_files"), usage.files.into());
    }
    let (size, log) = match database {
        Some(connection) => sqlx::query_as(
            "SELECT pg_database_size(current_database())::FLOAT8,
                    (SELECT count(*) FROM runs)::FLOAT8",
        )
        .fetch_one(connection)
        .await
        .context("the database cannot be looked at")?,
        None => (size_of(site.path(), "db")?, size_of(site.path(), "db-wal")?),
    };
    values.insert("database".to_owned(), size / MEBIBYTE);
    if site.is_cluster() {
        values.insert("runs".to_owned(), log);
    } else {
        values.insert("wal".to_owned(), log / MEBIBYTE);
    }
    Ok(values)
}

/// Bytes of the files below a directory whose names end with this extension.
fn size_of(directory: &Path, extension: &str) -> Result<f64> {
    let mut bytes = 0.0;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            bytes += size_of(&path, extension)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            bytes += f64::from(u32::try_from(fs::metadata(path)?.len())?);
        }
    }
    Ok(bytes)
}

/// Samples with the share of the time that had passed.
#[derive(Default)]
struct Series(Vec<(f64, Values)>);

impl Series {
    fn add(&mut self, at: f64, values: Values) {
        self.0.push((at, values));
    }

    fn mean(&self, name: &str, from: f64, until: f64) -> f64 {
        let samples = self.0.iter().filter(|(at, _)| (from..=until).contains(at));
        let values: Vec<f64> = samples
            .filter_map(|(_, values)| values.get(name).copied())
            .collect();
        values.iter().sum::<f64>() / u32::try_from(values.len()).map_or(f64::NAN, f64::from)
    }

    fn metrics(&self) -> Vec<Metric> {
        let names: Vec<&String> = self
            .0
            .last()
            .map_or(Vec::new(), |(_, last)| last.keys().collect());
        let metrics = names.into_iter().flat_map(|name| {
            let early = self.mean(name, 1.0 / 3.0, 4.0 / 9.0);
            let late = self.mean(name, 8.0 / 9.0, 1.0);
            let unit = match name {
                name if name.ends_with("_files") || name == "runs" => "",
                _ => "MiB",
            };
            [
                Metric::new(format!("{name}_early"), early, unit),
                Metric::new(format!("{name}_late"), late, unit),
                Metric::new(format!("{name}_growth"), late / early, ""),
            ]
        });
        metrics.collect()
    }
}
