//! Followers of the logs of runs that write nothing: row 17 of the table.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{ReadLogRequest, ReadLogResponse};
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{ListRunsRequest, RunStatus};
use futures::future::try_join_all;
use tokio::time::{sleep, timeout};
use tonic::Streaming;
use tonic::transport::Channel;

use crate::access::Access;
use crate::arguments::{LogFollowArguments, Modules};
use crate::cluster::ClusterSettings;
use crate::measures::clock::Moment;
use crate::measures::report::{Metric, say};
use crate::measures::sample::Sample;
use crate::members::Members;
use crate::played::held_runs::HeldRuns;
use crate::played::played_watcher::PlayedWatcher;
use crate::stage::{Plan, Stage};

/// Lines go in at one, and half of the followers are at the other.
const SCHEDULERS: usize = 2;

/// Longer than everything that is measured.
const LEASE: Duration = Duration::from_mins(10);

/// Time until servers have come to rest; Postgres counts the statements of a connection up to 10 s later.
const REST: Duration = Duration::from_secs(12);

/// Time between two lines.
const PAUSE: Duration = Duration::from_millis(50);

/// Longest way of a line.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

pub(super) async fn run(stage: &mut Stage, options: &LogFollowArguments) -> Result<Vec<Metric>> {
    let plan = Plan {
        name: "log-follow",
        tasks: options.followers,
        modules: Modules::Shared,
        cluster: Some(ClusterSettings {
            schedulers: SCHEDULERS,
            lease_ttl: LEASE,
            ..ClusterSettings::default()
        }),
        access: Access::Open,
    };
    let site = stage.new_site(plan).await?;
    stage.migrate(&site).await?;
    let cluster = site.cluster()?;
    let _watcher = PlayedWatcher::start(cluster.watcher_address()).await?;
    let mut schedulers = Vec::new();
    for index in 0..SCHEDULERS {
        stage.launch(&site, &cluster.scheduler(&site, index)?)?;
        schedulers.push(cts_rpc::connect(cluster.scheduler_address(index))?);
    }
    let members = Members::new(schedulers[0].clone());
    members.healthy(SCHEDULERS).await?;
    members.ready(options.followers).await?;
    let running = HeldRuns::take(schedulers[0].clone(), options.followers.div_ceil(2)).await?;
    let running_ids: Vec<_> = running.ids().map(str::to_owned).collect();
    let mut all = running_ids;
    all.extend(queued(&schedulers[0]).await?);

    let seconds = Duration::from_secs(options.seconds.into());
    say("no followers");
    let alone = statements(stage, seconds).await?;
    say(&format!("{} followers", all.len()));
    let followers = all
        .iter()
        .zip(schedulers.iter().rev().cycle())
        .map(|(run, scheduler)| follow(scheduler, run));
    let mut followers = try_join_all(followers).await?;
    let followed = statements(stage, seconds).await?;
    say("lines");
    // The followers of these two are at the other scheduler and at the scheduler that takes the lines.
    let away = ways(&running, 0, &mut followers[0], options.lines).await?;
    let here = ways(&running, 1, &mut followers[1], options.lines).await?;
    Ok(vec![
        Metric::new("statements_per_second", followed - alone, "1/s"),
        Metric::new("statements_per_second_alone", alone, "1/s"),
        Metric::new("line_p50", away.percentile(50), "ms"),
        Metric::new("line_p99", away.percentile(99), "ms"),
        Metric::new("line_p50_same_scheduler", here.percentile(50), "ms"),
        Metric::new("line_p99_same_scheduler", here.percentile(99), "ms"),
    ])
}

/// Transactions per second at the database, each of one statement or more, without those of this program.
async fn statements(stage: &Stage, time: Duration) -> Result<f64> {
    sleep(REST).await;
    let (begin, before) = (Moment::now(), stage.transactions().await?);
    sleep(time).await;
    let (end, after) = (Moment::now(), stage.transactions().await?);
    let count = u32::try_from(after - before)?;
    Ok(f64::from(count) / end.since(begin).as_secs_f64())
}

async fn queued(scheduler: &Channel) -> Result<Vec<String>> {
    let mut runs = RunServiceClient::new(scheduler.clone());
    let mut ids = Vec::new();
    let mut request = ListRunsRequest {
        status: RunStatus::Queued.into(),
        ..ListRunsRequest::default()
    };
    loop {
        let page = runs.list_runs(request.clone()).await;
        let page = page.context("runs are not listed")?.into_inner();
        ids.extend(page.runs.into_iter().map(|run| run.id));
        if page.next_page_token.is_empty() {
            return Ok(ids);
        }
        request.page_token = page.next_page_token;
    }
}

async fn follow(scheduler: &Channel, run: &str) -> Result<Streaming<ReadLogResponse>> {
    let request = ReadLogRequest {
        run_id: run.to_owned(),
        after_position: 0,
        follow: true,
        one_part: false,
    };
    let answer = LogServiceClient::new(scheduler.clone())
        .read_log(request)
        .await;
    Ok(answer.context("a log cannot be followed")?.into_inner())
}

/// How long lines take from the call that appends one to its follower.
async fn ways(
    running: &HeldRuns,
    index: usize,
    follower: &mut Streaming<ReadLogResponse>,
    lines: u32,
) -> Result<Sample> {
    let mut ways = Sample::default();
    for number in 0..lines {
        sleep(PAUSE).await;
        let text = format!("line {number}");
        let before = Moment::now();
        running.write(index, &text).await?;
        let part = timeout(LONGEST_SILENCE, follower.message()).await;
        let part = part.context("a line is lost")??;
        ways.add_milliseconds(Moment::now().since(before));
        let part = part.context("a log has ended too early")?;
        let received: Vec<_> = part.lines.iter().map(|line| &line.text).collect();
        ensure!(received == [&text], "{received:?} is not {text:?}");
    }
    Ok(ways)
}
