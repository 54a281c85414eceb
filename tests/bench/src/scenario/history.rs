//! A long history and its end: row 18 of the table.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cts_testkit::History;
use sqlx::{Connection as _, PgConnection};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::access::Access;
use crate::arguments::{HistoryArguments, Modules};
use crate::cluster::ClusterSettings;
use crate::http_client::HttpClient;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::renewals::{Renewals, SESSION_TTL};
use crate::stage::{Plan, Stage, Version};

const PATH: &str = "/v1/status/tasks";

/// Time between two requests for the status.
const ASKED_EVERY: Duration = Duration::from_millis(100);

/// The shortest that can be configured: old runs are looked for after a quarter of it.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// Longest wait until the first runs are forgotten.
const BEGIN: Duration = Duration::from_mins(2);

const SPAN: Duration = Duration::from_hours(24 * 30);

pub(super) async fn run(stage: &mut Stage, options: &HistoryArguments) -> Result<Vec<Metric>> {
    stage.register(0, Version::FIRST).await?;
    let site = stage
        .new_site(Plan {
            name: "history",
            tasks: options.tasks,
            modules: Modules::Shared,
            cluster: Some(ClusterSettings {
                session_ttl: SESSION_TTL,
                runs_kept_for: Some(KEPT_FOR),
                ..ClusterSettings::default()
            }),
            access: Access::Open,
        })
        .await?;
    say("first pass");
    let (_started, mut runs) = stage.start_cts(&site).await?;
    runs.first_pass(site.tasks().len()).await?;
    drop(runs);
    stage.stop_cts().await?;

    say("making the history");
    let history = History {
        runs_per_task: options.runs,
        lines_per_run: 2,
        span: SPAN,
    };
    let database = site.cluster()?.database();
    history.add(database).await;
    let mut connection = PgConnection::connect(database).await?;
    // Writes that are left over from making the history are no part of the measurement.
    for statement in ["VACUUM ANALYZE", "CHECKPOINT"] {
        sqlx::query(statement).execute(&mut connection).await?;
    }

    let (_started, _runs) = stage.start_cts(&site).await?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, site.api_port()));
    let before = ended(&mut connection).await?;
    let begun = timeout(BEGIN, async {
        while ended(&mut connection).await? >= before {
            sleep(Duration::from_secs(1)).await;
        }
        anyhow::Ok(())
    });
    begun.await.context("no run is forgotten")??;
    say("measuring");
    let mut client = HttpClient::connect(address, PATH, None).await?;
    let first = ended(&mut connection).await?;
    let begin = Moment::now();
    let time = Duration::from_secs(options.seconds.into());
    let renewals = Renewals::watch(site.cluster()?).await?;
    let latencies = ask(&mut client, time).await?;
    let pause = renewals.longest_delay().await?;
    let seconds = Moment::now().since(begin).as_secs_f64();
    let forgotten = first.saturating_sub(ended(&mut connection).await?);
    ensure!(forgotten > 0, "nothing was forgotten meanwhile");
    connection.close().await?;
    stage.stop_cts().await?;
    let per_second = u32::try_from(forgotten).map_or(f64::NAN, f64::from) / seconds;
    Ok(vec![
        Metric::new("prune_pause_max", pause.as_secs_f64() * 1e3, "ms"),
        Metric::new("status_p50", latencies.percentile(50), "ms"),
        Metric::new("status_p99", latencies.percentile(99), "ms"),
        Metric::new("forgotten_per_second", per_second, "1/s"),
    ])
}

/// Runs that have ended.
async fn ended(connection: &mut PgConnection) -> Result<u64> {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM runs WHERE finished_at IS NOT NULL")
        .fetch_one(connection)
        .await?;
    Ok(count.unsigned_abs())
}

async fn ask(client: &mut HttpClient, time: Duration) -> Result<Sample> {
    let mut latencies = Sample::default();
    let begin = Moment::now();
    let mut ticks = interval(ASKED_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while Moment::now().since(begin) < time {
        ticks.tick().await;
        let asked = Moment::now();
        client.ask().await?;
        latencies.add_milliseconds(Moment::now().since(asked));
    }
    Ok(latencies)
}
