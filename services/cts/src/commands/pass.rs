//! `-once` and `-inspect`: one pass over the tasks, and the end (docs/runs.md#passes).
//!
//! Both options start the embedded shape without an API: this module requests one run of each enabled task and follows
//! those runs to their ends. Tasks run in parallel, as far as the worker has slots; a task that fails does not stop the
//! others, and sets the exit code at the end.

mod brake;
mod consent;
mod progress;
mod tally;
mod terminal;

use std::time::Duration;

use cts_config::Config;
use cts_core::runs::RunKind;
use cts_core::{TaskName, TaskPhase};
use cts_proto::cluster::v1::Brake;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::log::v1::{ReadLogRequest, ReadLogResponse};
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_proto::run::v1::{FollowRunsRequest, FollowRunsResponse, GetRunRequest, Run, RunStatus};
use cts_rpc::CallFailure;
use cts_runtime::ProcessEnv;
use cts_scheduler::{DisabledChecks, RunRequests};
use cts_store::StoredTask;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_stream::{StreamExt as _, StreamMap};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::failure::Failure;
use crate::services::embedded::{Embedded, Sockets, StartMode, StartOptions};

use brake::BrakeClient;
use consent::ConsentClient;
use progress::{EndedTask, Progress};
use tally::{End, Stage, Tally};
pub(crate) use terminal::ProgressLines;

/// How often a log without a terminal reports the reason of a wait.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// A pass over `config`'s tasks: with [`StartMode::Once`] each is applied, with [`StartMode::Inspect`] each is planned,
/// and the state of other instances is not touched. Only the tasks named by `only` run, in that order; all tasks if
/// `only` is empty. Ends when each is through, or with a signal.
///
/// Changes of the stored tasks over the API count: enabled tasks run, including tasks of the API.
pub(crate) async fn run(
    options: StartOptions,
    only: &[String],
    mut config: Config,
    process_env: &ProcessEnv,
    lines: Option<ProgressLines>,
    shutdown: CancellationToken,
) -> Result<(), Failure> {
    choose(&mut config, only)?;
    let prepared = Embedded::prepare(&config, process_env, Sockets::default(), options);
    let embedded = tokio::select! {
        prepared = prepared => prepared?,
        () = shutdown.cancelled() => {
            // The stored tasks are not known yet.
            let of = config.tasks.iter().filter(|task| task.enabled).count();
            return Err(Failure::PassCut { ended: 0, of });
        }
    };
    let stored = embedded.tasks().await?;
    let (enabled, disabled): (Vec<_>, Vec<_>) = stored.iter().partition(|task| runs(task));
    let disabled = disabled.len();
    let names: Vec<&TaskName> = enabled.iter().map(|task| task.spec.name()).collect();
    let progress = match lines {
        Some(lines) => Progress::terminal(&lines, names.iter().map(|name| name.as_str())),
        None => Progress::Plain,
    };
    let kind = match options.mode {
        StartMode::Inspect => RunKind::Plan,
        StartMode::Daemon | StartMode::Once => RunKind::Apply,
    };
    let mut follower = Follower {
        kind,
        errors_are_logged: kind == RunKind::Plan || config.database.is_none(),
        tally: Tally::new(names.iter().map(ToString::to_string)),
        progress,
        runs: RunServiceClient::new(embedded.scheduler()),
        logs: LogServiceClient::new(embedded.scheduler()),
        brakes: BrakeClient::new(embedded.scheduler()),
        consents: ConsentClient::new(embedded.scheduler()),
        brake: None,
        written: StreamMap::new(),
        started: Instant::now(),
    };
    // The embedded services end by themselves when the pass is over, and when a signal comes.
    let end = shutdown.child_token();
    let requests = embedded.run_requests();
    let checks = embedded.disabled_checks();
    let (served, followed) = tokio::join!(embedded.run(end.clone()), async {
        let followed = async {
            follower.follow(&requests, &names, disabled).await?;
            if kind == RunKind::Apply {
                let brake = follower.brakes.if_set().await;
                follower.brake = brake.map_err(|status| lost(&status))?;
            }
            if disabled > 0 {
                follower.make_ready(&checks).await;
            }
            Ok(())
        };
        let followed = end.run_until_cancelled(followed).await;
        end.cancel();
        followed
    });
    follower.progress.finish();
    served?;
    follower.conclude(followed)
}

/// Whether a pass runs a task.
fn runs(task: &StoredTask) -> bool {
    task.phase == TaskPhase::Ready && task.spec.enabled
}

/// Leaves the tasks that were named, in the order of their names on the command line.
fn choose(config: &mut Config, only: &[String]) -> Result<(), Failure> {
    if only.is_empty() {
        return Ok(());
    }
    let mut chosen = Vec::new();
    for name in only {
        let Some(place) = config
            .tasks
            .iter()
            .position(|task| task.name().as_str() == name)
        else {
            if chosen
                .iter()
                .any(|task: &cts_core::TaskSpec| task.name().as_str() == name)
            {
                continue;
            }
            let names = config.tasks.iter().map(|task| task.name().as_str());
            let nearest = names
                .map(|known| (strsim::jaro_winkler(known, name), known))
                .filter(|(likeness, _known)| *likeness > 0.8)
                .max_by(|a, b| a.0.total_cmp(&b.0));
            return Err(Failure::UnknownTask {
                name: name.clone(),
                nearest: nearest.map(|(_likeness, known)| known.to_owned()),
            });
        };
        chosen.push(config.tasks.remove(place));
    }
    config.tasks = chosen;
    Ok(())
}

/// Follows the runs of a pass.
#[derive(Debug)]
struct Follower {
    kind: RunKind,
    /// Every run ends in this process, whose scheduler logs why it has failed. Over Postgres it may end in a
    /// different process.
    errors_are_logged: bool,
    tally: Tally,
    progress: Progress,
    runs: RunServiceClient<Channel>,
    logs: LogServiceClient<Channel>,
    brakes: BrakeClient,
    consents: ConsentClient,
    /// The brake of the fleet, if it is set at the end.
    brake: Option<Brake>,
    /// Output of Terraform for the tasks at work, by task; only where it is shown.
    written: StreamMap<String, Streaming<ReadLogResponse>>,
    started: Instant,
}

impl Follower {
    /// Requests a run of each task, and follows them until every task is through.
    async fn follow(
        &mut self,
        requests: &RunRequests,
        tasks: &[&TaskName],
        disabled: usize,
    ) -> Result<(), Failure> {
        let request = FollowRunsRequest::default();
        let changes = self.runs.follow_runs(request).await;
        let mut changes: Streaming<FollowRunsResponse> =
            changes.map_err(|status| lost(&status))?.into_inner();
        let mut reports = tokio::time::interval(REPORT_EVERY);
        reports.set_missed_tick_behavior(MissedTickBehavior::Delay);
        reports.reset();
        let doing = match self.kind {
            RunKind::Plan => "inspecting all tasks",
            _ => "executing all tasks once through",
        };
        if tasks.len() + disabled == 0 {
            tracing::info!(target: "ctrl", "no tasks configured");
        } else {
            tracing::info!(target: "ctrl", tasks = tasks.len(), "{doing}");
        }
        for task in tasks {
            match requests.request(task, self.kind).await {
                Some(run) => self.tally.requested(task.as_str(), run.to_string()),
                // The task was deleted since.
                None => self.tally.ended(task.as_str(), End::Cancelled),
            }
        }
        while !self.tally.is_done() {
            self.progress.counts(self.tally.counts(), self.tally.len());
            tokio::select! {
                change = changes.message() => match change.map_err(|status| lost(&status))? {
                    Some(change) => self.observe(&change).await?,
                    None => return Err(Failure::Call("the scheduler has ended".to_owned())),
                },
                Some((task, lines)) = self.written.next() => self.wrote(&task, lines),
                _ = reports.tick() => {
                    self.find_unapproved().await?;
                    self.log_waiting();
                }
            }
        }
        self.progress.counts(self.tally.counts(), self.tally.len());
        Ok(())
    }

    /// Makes the disabled tasks ready, after the enabled tasks.
    async fn make_ready(&self, checks: &DisabledChecks) {
        if !checks.run(self.kind == RunKind::Plan).await {
            tracing::info!(target: "ctrl", "another scheduler leads, and looks after disabled tasks");
        }
    }

    async fn observe(&mut self, change: &FollowRunsResponse) -> Result<(), Failure> {
        let now = self.started.elapsed();
        let (task, run) = (change.task_name.as_str(), change.run_id.as_str());
        let stage = match change.status() {
            RunStatus::Unspecified => return Ok(()),
            RunStatus::Queued => {
                if self.awaits_consent(task, run).await? {
                    self.through(task, run, &End::Waits(run.to_owned()), now);
                    return Ok(());
                }
                Stage::Queued
            }
            RunStatus::Running => Stage::Running(now),
            RunStatus::Succeeded | RunStatus::Failed | RunStatus::Cancelled => {
                return self.end(task, run, now).await;
            }
        };
        let at_work = matches!(stage, Stage::Running(_));
        if self.tally.moved(task, run, stage) && at_work {
            let doing = match self.kind {
                RunKind::Plan => "planning",
                _ => "applying",
            };
            self.progress.at_work(task, doing);
            self.read_log(task, run).await;
        }
        Ok(())
    }

    /// Whether a run is back in the queue because its attempt has asked for consent.
    async fn awaits_consent(&mut self, task: &str, run: &str) -> Result<bool, Failure> {
        if self.tally.running_since(task).is_none() {
            return Ok(false);
        }
        let awaited = self.consents.is_awaited(run).await;
        awaited.map_err(|status| lost(&status))
    }

    /// Follows the log of a run, if it is shown.
    async fn read_log(&mut self, task: &str, run: &str) {
        if !self.progress.shows_lines() {
            return;
        }
        let request = ReadLogRequest {
            run_id: run.to_owned(),
            after_position: 0,
            follow: true,
            one_part: false,
        };
        // Without this log less is visible; the run is not affected.
        if let Ok(lines) = self.logs.read_log(request).await {
            self.written.insert(task.to_owned(), lines.into_inner());
        }
    }

    fn wrote(&mut self, task: &str, lines: Result<ReadLogResponse, Status>) {
        match lines {
            Ok(lines) => {
                if let Some(last) = lines.lines.last() {
                    self.progress.wrote(task, &last.text);
                }
            }
            Err(status) => {
                tracing::debug!(target: "ctrl", task_name = task, error = %CallFailure(&status), "the log of a run cannot be read");
                self.written.remove(task);
            }
        }
    }

    async fn end(&mut self, task: &str, run: &str, now: Duration) -> Result<(), Failure> {
        let record = self.record(run).await?;
        let mut end = end_of(&record);
        if let End::Failed(reason) = &mut end
            // The run of a request that the leader refuses never starts.
            && record.started_at.is_none()
            && self.kind == RunKind::Apply
        {
            let held = self.brakes.holds(task).await;
            if held.map_err(|status| lost(&status))? {
                end = End::Held(std::mem::take(reason));
            }
        }
        self.through(task, run, &end, now);
        Ok(())
    }

    async fn record(&mut self, run: &str) -> Result<Run, Failure> {
        let request = GetRunRequest {
            run_id: run.to_owned(),
            include_cause: false,
            include_attempts: false,
            visible_tasks: Vec::new(),
        };
        let record = self.runs.get_run(request).await;
        let record = record.map_err(|status| lost(&status))?;
        Ok(record.into_inner().run.unwrap_or_default())
    }

    /// Finds runs that wait for consent without a change that has told so.
    async fn find_unapproved(&mut self) -> Result<(), Failure> {
        let now = self.started.elapsed();
        let waiting = self.consents.waiting().await;
        for approval in waiting.map_err(|status| lost(&status))? {
            let (task, run) = (approval.task_name.as_str(), approval.run_id.as_str());
            if self.tally.is_open(task, run)
                && self.record(run).await?.status() == RunStatus::Queued
            {
                self.through(task, run, &End::Waits(run.to_owned()), now);
            }
        }
        Ok(())
    }

    /// A task is through.
    fn through(&mut self, task: &str, run: &str, end: &End, now: Duration) {
        self.written.remove(task);
        let began = self.tally.running_since(task);
        let since = began.unwrap_or(now);
        if self.tally.moved(task, run, Stage::Ended(end.clone())) {
            let ended = EndedTask {
                task,
                end,
                took: now.saturating_sub(since),
                // The log has only a warning of a run that could not begin.
                error_is_logged: self.errors_are_logged && began.is_some(),
            };
            self.progress
                .ended(&ended, self.tally.counts(), self.tally.len());
        }
    }

    /// Logs why nothing happens, if no terminal shows the reason (P10).
    fn log_waiting(&self) {
        let mut waiting = self.tally.waiting();
        if let Some(first) = waiting.next() {
            let more = waiting.count();
            tracing::info!(target: "ctrl", task_name = first, others = more, "still waiting for Consul's first answers");
        }
    }

    fn conclude(&self, followed: Option<Result<(), Failure>>) -> Result<(), Failure> {
        let counts = self.tally.counts();
        let of = self.tally.len();
        match followed {
            Some(Err(failure)) => return Err(failure),
            Some(Ok(())) => {}
            None if self.tally.is_done() => {}
            None => {
                return Err(Failure::PassCut {
                    ended: counts.ended(),
                    of,
                });
            }
        }
        let took = self.started.elapsed();
        if let Some(brake) = &self.brake {
            return Err(brake::failure(brake, counts, of));
        }
        if let Some(failure) = consent::failure(&self.tally) {
            return Err(failure);
        }
        if counts.failed > 0 {
            if self.kind == RunKind::Apply {
                tracing::info!(target: "ctrl", tasks = of, failed = counts.failed, ?took, "attempted to run all tasks once");
            }
            return Err(Failure::Pass {
                failed: counts.failed,
                of,
                first: self.tally.first_failure().unwrap_or_default(),
            });
        }
        let done = match self.kind {
            RunKind::Plan => "all tasks inspected",
            _ => "all tasks completed once",
        };
        tracing::info!(target: "ctrl", tasks = of, ?took, "{done}");
        Ok(())
    }
}

fn end_of(run: &Run) -> End {
    match run.status() {
        RunStatus::Succeeded => match &run.plan {
            Some(plan) => End::Planned {
                changes: plan.changes_present,
                would_wait: plan.would_wait.clone(),
            },
            None => End::Applied,
        },
        RunStatus::Cancelled => End::Cancelled,
        RunStatus::Failed | RunStatus::Unspecified | RunStatus::Queued | RunStatus::Running => {
            End::Failed(run.error.clone())
        }
    }
}

fn lost(status: &Status) -> Failure {
    Failure::Call(format!(
        "the scheduler does not answer: {}",
        CallFailure(status)
    ))
}
