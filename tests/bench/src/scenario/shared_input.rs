//! One large service that many tasks watch: row 15 of the table.

use anyhow::{Context as _, Result};
use sqlx::{Connection as _, PgConnection};

use crate::access::Access;
use crate::arguments::{Modules, SharedInputArguments};
use crate::cluster::ClusterSettings;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::hands::Hands;
use crate::played::played_watcher::PlayedWatcher;
use crate::renewals::{Renewals, SESSION_TTL};
use crate::site::SERVICE;
use crate::stage::{Plan, Stage};

/// Slots for the passes, which are not measured.
const SLOTS: u32 = 16;

pub(super) async fn run(stage: &mut Stage, options: &SharedInputArguments) -> Result<Vec<Metric>> {
    let plan = Plan {
        name: "shared-input",
        tasks: options.tasks,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings {
            session_ttl: SESSION_TTL,
            ..ClusterSettings::default()
        }),
        access: Access::Open,
    };
    let site = stage.new_site(plan).await?;
    let watcher = PlayedWatcher::with_scheduler(stage, &site, options.instances).await?;
    let cluster = site.cluster()?;
    let scheduler = cluster.scheduler_address(0);
    let members = Members::new(cts_rpc::connect(scheduler)?);
    say("first pass");
    members.ready(options.tasks).await?;
    let mut hands = Hands::start(scheduler, SLOTS).await?;
    hands.all(options.tasks).await?;
    drop(hands);

    let database = PgConnection::connect(cluster.database()).await;
    let mut database = database.context("the tables cannot be looked at")?;
    let [mut queued, mut bytes, mut ratio, mut delay] = [(); 4].map(|()| Sample::default());
    for round in 1..=options.rounds {
        let renewals = Renewals::watch(cluster).await?;
        let before = stored(&mut database).await?;
        let changed = watcher.change(SERVICE);
        let full = members.ready(options.tasks).await?;
        queued.add(full.since(changed).as_secs_f64());
        delay.add(renewals.longest_delay().await?.as_secs_f64());
        let after = stored(&mut database).await?;
        bytes.add(after.all - before.all);
        ratio.add((after.all - before.all) / after.largest);
        say(&format!(
            "round {round} of {}: {:.2} s",
            options.rounds,
            queued.last()
        ));
        let mut hands = Hands::start(scheduler, SLOTS).await?;
        hands.all(options.tasks).await?;
    }
    let view = stored(&mut database).await?.largest;
    Ok(vec![
        Metric::new("stored_bytes_ratio", ratio.median(), ""),
        Metric::new("stored_bytes", bytes.median(), "B"),
        Metric::new("view_bytes", view, "B"),
        Metric::new("queued_seconds", queued.median(), "s"),
        Metric::new("renewal_delay_max", delay.percentile(100), "s"),
        Metric::new("rss", stage.usage()?.rss, "MiB"),
    ])
}

/// Sizes of the tables of inputs, in bytes.
struct Stored {
    all: f64,
    /// The largest content.
    largest: f64,
}

async fn stored(database: &mut PgConnection) -> Result<Stored> {
    let (all, largest): (f64, f64) = sqlx::query_as(
        "SELECT (i.size + c.size + n.size)::FLOAT8, c.largest::FLOAT8
         FROM (SELECT coalesce(sum(pg_column_size(t.*)), 0) AS size FROM inputs t) i,
              (SELECT coalesce(sum(pg_column_size(t.*)), 0) AS size,
                      coalesce(max(octet_length(content)), 0) AS largest FROM contents t) c,
              (SELECT coalesce(sum(pg_column_size(t.*)), 0) AS size FROM input_contents t) n",
    )
    .fetch_one(database)
    .await
    .context("the tables of inputs cannot be looked at")?;
    Ok(Stored { all, largest })
}
