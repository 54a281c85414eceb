//! Calls about runs, the stream of their events, and versions of answers.

use cts_core::callers::{FollowKey, TaskPatterns};
use cts_proto::cluster::v1::follow_service_client::FollowServiceClient;
use cts_proto::cluster::v1::{FollowRequest, FollowResponse};
use cts_proto::log::v1 as log;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::plan_service_client::PlanServiceClient;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_rpc::convert::status_to_wire;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use super::call::{CALL_LIMIT, CallError, ask, patterns, present};
use super::on_behalf::OnBehalf;
use crate::request::parameters::{RunIncludes, RunsQuery};

/// Calls the services of runs, of their logs, of their plans and of versions; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct RunClient {
    runs: RunServiceClient<Channel>,
    logs: LogServiceClient<Channel>,
    plans: PlanServiceClient<Channel>,
    versions: FollowServiceClient<Channel>,
}

impl RunClient {
    pub(crate) fn new(
        runs: RunServiceClient<Channel>,
        logs: LogServiceClient<Channel>,
        plans: PlanServiceClient<Channel>,
        versions: FollowServiceClient<Channel>,
    ) -> Self {
        Self {
            runs,
            logs,
            plans,
            versions,
        }
    }

    /// How much work waits.
    pub(crate) async fn queue(&self) -> Result<proto::GetQueueResponse, CallError> {
        let request = proto::GetQueueRequest {};
        let answer = ask(CALL_LIMIT, call!(self.runs.get_queue(request))).await?;
        Ok(answer.into_inner())
    }

    /// A page of runs, if possible only runs of `visible` tasks; `None` for all tasks.
    pub(crate) async fn runs(
        &self,
        query: RunsQuery,
        tasks: Option<&TaskPatterns>,
    ) -> Result<proto::ListRunsResponse, CallError> {
        let is_of_cause = !query.cause.is_empty();
        let request = proto::ListRunsRequest {
            cause_id: query.cause,
            task_name: query.task,
            status: query
                .status
                .map_or(proto::RunStatus::Unspecified, status_to_wire)
                .into(),
            page_size: query.limit,
            page_token: query.after,
            awaits_consent: query.waits,
            visible_tasks: patterns(tasks),
        };
        let answer = ask(CALL_LIMIT, call!(self.runs.list_runs(request))).await;
        let page = match answer {
            Ok(answer) => answer.into_inner(),
            Err(CallError::Call(status)) if status.code() == Code::InvalidArgument => {
                return Err(CallError::NoSuchPage);
            }
            Err(error) => return Err(error),
        };
        // A scheduler of an earlier version lists the runs of all causes, and names none.
        let names_none = page.runs.iter().all(|run| run.cause_ids.is_empty());
        if is_of_cause && names_none && !page.runs.is_empty() {
            return Err(CallError::TooOld("causes"));
        }
        Ok(page)
    }

    /// A page of causes with the states of `tasks`; `None` for all tasks.
    pub(crate) async fn causes(
        &self,
        query: proto::ListCausesRequest,
        tasks: Option<&TaskPatterns>,
    ) -> Result<proto::ListCausesResponse, CallError> {
        let request = proto::ListCausesRequest {
            visible_tasks: patterns(tasks),
            ..query
        };
        let answer = ask(CALL_LIMIT, call!(self.runs.list_causes(request))).await;
        let answer = answer.map_err(|error| error.or_too_old("causes"))?;
        Ok(answer.into_inner())
    }

    /// Returns one run, with the wanted additions. Texts name only other tasks that are visible: `None` for all.
    pub(crate) async fn run(
        &self,
        id: &str,
        includes: RunIncludes,
        tasks: Option<&TaskPatterns>,
    ) -> Result<proto::Run, CallError> {
        let request = proto::GetRunRequest {
            run_id: id.to_owned(),
            include_cause: includes.cause,
            include_attempts: includes.attempts,
            visible_tasks: patterns(tasks),
        };
        let answer = ask(CALL_LIMIT, call!(self.runs.get_run(request))).await;
        present(one(answer, id)?.into_inner().run, "GetRunResponse.run")
    }

    /// The plan of one run as data, with or without its values.
    pub(crate) async fn plan(
        &self,
        id: &str,
        with_values: bool,
    ) -> Result<proto::PlanData, CallError> {
        let request = proto::GetPlanRequest {
            run_id: id.to_owned(),
            without_values: !with_values,
        };
        let call = || {
            let (mut plans, request) = (self.plans.clone(), request.clone());
            async move {
                let mut parts = plans.get_plan(request).await?.into_inner();
                let mut plan = first_part(parts.message().await?);
                while let Some(answer) = parts.message().await? {
                    add(&mut plan, answer.part.unwrap_or_default());
                }
                Ok(plan)
            }
        };
        match ask(CALL_LIMIT, call).await {
            Err(CallError::Call(status)) if status.code() == Code::NotFound => {
                Err(CallError::NoPlan(id.to_owned()))
            }
            answer => answer.map_err(|error| error.or_too_old("plans as data")),
        }
    }

    /// The input of one run that exists, as data, with or without its values.
    pub(crate) async fn input(
        &self,
        id: &str,
        with_values: bool,
    ) -> Result<proto::InputData, CallError> {
        let request = proto::GetInputRequest {
            run_id: id.to_owned(),
            without_values: !with_values,
        };
        match ask(CALL_LIMIT, call!(self.plans.get_input(request))).await {
            Err(CallError::Call(status)) if status.code() == Code::NotFound => {
                Err(CallError::Refused(status.message().to_owned()))
            }
            answer => {
                let answer = answer.map_err(|error| error.or_too_old("inputs of runs"))?;
                present(answer.into_inner().input, "GetInputResponse.input")
            }
        }
    }

    /// Cancels a run, and returns the run after that. Sent once: a lost call may have arrived, and a second call would
    /// be refused. `by` is for the audit records. Texts name only other tasks that are visible: `None` for all.
    pub(crate) async fn cancel(
        &self,
        id: &str,
        force: bool,
        by: &OnBehalf,
        tasks: Option<&TaskPatterns>,
    ) -> Result<proto::Run, CallError> {
        let mut client = self.runs.clone();
        let request = by.request(proto::CancelRunRequest {
            run_id: id.to_owned(),
            force,
            visible_tasks: patterns(tasks),
        });
        let answer = timeout(CALL_LIMIT, client.cancel_run(request)).await;
        let answer = answer
            .unwrap_or_else(|_elapsed| Err(Status::deadline_exceeded("no answer in time")))
            .map_err(CallError::from);
        match answer {
            Err(CallError::Call(status)) if status.code() == Code::FailedPrecondition => {
                Err(CallError::Refused(status.message().to_owned()))
            }
            answer => present(one(answer, id)?.into_inner().run, "CancelRunResponse.run"),
        }
    }

    /// Changes of all runs, of the brake and of consents from now on.
    pub(crate) async fn follow(&self) -> Result<Streaming<proto::FollowRunsResponse>, CallError> {
        let request = proto::FollowRunsRequest {
            task_name: String::new(),
            include_brake: true,
            include_approvals: true,
        };
        let answer = ask(CALL_LIMIT, call!(self.runs.follow_runs(request))).await?;
        Ok(answer.into_inner())
    }

    /// The present versions of these keys, then the later ones, for a caller who may see only these tasks; `None` for all.
    pub(crate) async fn versions(
        &self,
        keys: &[FollowKey],
        visible: Option<&TaskPatterns>,
    ) -> Result<Streaming<FollowResponse>, CallError> {
        let request = FollowRequest {
            keys: keys.iter().map(ToString::to_string).collect(),
            visible_tasks: patterns(visible),
        };
        let answer = ask(CALL_LIMIT, call!(self.versions.follow(request))).await;
        let answer = answer.map_err(|error| error.or_too_old("versions to follow"));
        Ok(answer?.into_inner())
    }

    /// Returns a part of the log of one run after a position; if the log is followed, waits for the part. The stream is
    /// empty if the log has no more lines, and with `follow` only when the run has ended.
    pub(crate) async fn log(
        &self,
        id: &str,
        after_position: u64,
        follow: bool,
    ) -> Result<Streaming<log::ReadLogResponse>, CallError> {
        let request = log::ReadLogRequest {
            run_id: id.to_owned(),
            after_position,
            follow,
            one_part: true,
        };
        let answer = ask(CALL_LIMIT, call!(self.logs.read_log(request))).await;
        Ok(one(answer, id)?.into_inner())
    }

    /// A window of the log of a run.
    pub(crate) async fn log_window(
        &self,
        id: &str,
        window: log::ReadLogWindowRequest,
    ) -> Result<log::ReadLogWindowResponse, CallError> {
        let run_id = id.to_owned();
        let request = log::ReadLogWindowRequest { run_id, ..window };
        let answer = ask(CALL_LIMIT, call!(self.logs.read_log_window(request))).await;
        Ok(part_of_log(answer, id)?.into_inner())
    }

    /// Searches the log of a run. A new search for the same client ends this search.
    pub(crate) async fn search_log(
        &self,
        id: &str,
        search: log::SearchLogRequest,
        by: &OnBehalf,
    ) -> Result<Streaming<log::SearchLogResponse>, CallError> {
        let run_id = id.to_owned();
        let request = log::SearchLogRequest { run_id, ..search };
        let call = || {
            let (mut logs, request) = (self.logs.clone(), by.request(request.clone()));
            async move { logs.search_log(request).await }
        };
        let answer = ask(CALL_LIMIT, call).await;
        Ok(part_of_log(answer, id)?.into_inner())
    }
}

fn first_part(answer: Option<proto::GetPlanResponse>) -> proto::PlanData {
    answer.and_then(|answer| answer.part).unwrap_or_default()
}

/// Adds the next part of a plan. Members besides lists are in the first part.
fn add(plan: &mut proto::PlanData, mut part: proto::PlanData) {
    plan.unclear.append(&mut part.unclear);
    plan.changes.append(&mut part.changes);
    plan.outputs.append(&mut part.outputs);
    plan.invocations.append(&mut part.invocations);
    plan.deferred.append(&mut part.deferred);
}

/// As [`one`], for a part of a log that the scheduler may not know, or may be too old for.
fn part_of_log<T>(answer: Result<T, CallError>, id: &str) -> Result<T, CallError> {
    match one(answer, id) {
        Err(CallError::Call(status)) if status.code() == Code::OutOfRange => {
            Err(CallError::Refused(status.message().to_owned()))
        }
        other => other.map_err(|error| error.or_too_old("windows of logs and searches in logs")),
    }
}

/// Maps a call that names an unknown run, or a text that is not an id, to [`CallError::NoSuchRun`].
fn one<T>(answer: Result<T, CallError>, id: &str) -> Result<T, CallError> {
    match answer {
        Err(CallError::Call(status))
            if matches!(status.code(), Code::NotFound | Code::InvalidArgument) =>
        {
            Err(CallError::NoSuchRun(id.to_owned()))
        }
        other => other,
    }
}
