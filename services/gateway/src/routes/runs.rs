//! Cts-only endpoints about runs and about why a task runs. Their errors are the ones of the new family.

use axum::response::Response;
use cts_core::callers::TaskPatterns;
use cts_proto::run::v1::{ListRunsResponse, Run, RunStatus};
use http::StatusCode;

use crate::authorization::visitor::Visitor;
use crate::json;
use crate::model::{ExplanationAnswer, IdFirst, IdLast, RunAnswer};
use crate::options::LocalTime;
use crate::problem::Problem;
use crate::request::cancel_body;
use crate::request::parameters::{self, RunIncludes, RunsQuery};
use crate::request_id::RequestId;
use crate::routes::changes::Received;
use crate::scheduler_client::on_behalf::OnBehalf;
use crate::scheduler_client::{CallError, RunClient, TaskClient};

/// Most pages that are read for one request of a caller who may see only the runs of some tasks.
const MOST_PAGES: u32 = 20;

/// How much work waits.
pub(crate) async fn queue(questions: &RunClient, id: RequestId) -> Result<Response, Problem> {
    let queue = questions
        .queue()
        .await
        .map_err(|error| Problem::unanswered(&error, None, id))?;
    let answer = IdLast {
        message: queue,
        request_id: id,
    };
    Ok(json::answer(StatusCode::OK, &answer))
}

/// A page of runs that the caller may see, newest first.
pub(crate) async fn runs(
    questions: &RunClient,
    query: Option<&str>,
    visitor: &Visitor,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let request = parameters::runs(query)?;
    let page = match visitor.tasks() {
        Some(_) if !request.task.is_empty() => {
            visitor.may_name(&request.task)?;
            questions.runs(request, None).await
        }
        Some(tasks) => some_runs(questions, request, tasks).await,
        None => questions.runs(request, None).await,
    };
    let page = page.map_err(|error| Problem::unanswered_run(&error, "", id))?;
    let answer = IdFirst {
        request_id: id,
        message: page,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

/// Runs of some tasks. Schedulers list the runs of few tasks by task. For many tasks, a page of all runs may contain few runs of these tasks: pages are read until half of the wanted runs are found, no
/// pages are left, or too many were read. The client continues where this page ends.
async fn some_runs(
    questions: &RunClient,
    request: RunsQuery,
    tasks: &TaskPatterns,
) -> Result<ListRunsResponse, CallError> {
    let mut found = ListRunsResponse {
        runs: Vec::new(),
        next_page_token: request.after.clone(),
    };
    let limit = request.limit as usize;
    for _ in 0..MOST_PAGES {
        let left = limit.saturating_sub(found.runs.len());
        let query = RunsQuery {
            limit: u32::try_from(left).unwrap_or(request.limit),
            after: found.next_page_token,
            ..request.clone()
        };
        let page = questions.runs(query, Some(tasks)).await?;
        let shown = page.runs.into_iter();
        let shown = shown.filter(|run| tasks.matches(&run.task_name));
        found.runs.extend(shown);
        found.next_page_token = page.next_page_token;
        if found.next_page_token.is_empty() || found.runs.len() * 2 >= limit {
            break;
        }
    }
    Ok(found)
}

/// Refuses a run of a task that the caller may not name, as if it did not exist.
pub(crate) async fn require_visible(
    questions: &RunClient,
    run: &str,
    visitor: &Visitor,
    id: RequestId,
) -> Result<(), Problem> {
    if visitor.tasks().is_some() {
        visible(questions, run, RunIncludes::default(), visitor, id).await?;
    }
    Ok(())
}

async fn visible(
    questions: &RunClient,
    run: &str,
    includes: RunIncludes,
    visitor: &Visitor,
    id: RequestId,
) -> Result<Run, Problem> {
    let found = questions.run(run, includes, visitor.tasks()).await;
    let found = found.and_then(|found| {
        if visitor.sees(&found.task_name) {
            Ok(found)
        } else {
            Err(CallError::NoSuchRun)
        }
    });
    found.map_err(|error| Problem::unanswered_run(&error, run, id))
}

/// The run `run`.
pub(crate) async fn run(
    questions: &RunClient,
    run: &str,
    query: Option<&str>,
    visitor: &Visitor,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let includes = parameters::run_includes(query)?;
    let found = visible(questions, run, includes, visitor, id).await?;
    let answer = RunAnswer {
        request_id: id,
        run: found,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}

/// Cancels the run `run`: 202 while its worker stops the run, 200 if no further step follows.
pub(crate) async fn cancel(
    calls: &RunClient,
    run: &str,
    body: Received,
    visitor: &Visitor,
    by: &OnBehalf,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let body = body.map_err(|error| Problem::without_body(&error, StatusCode::BAD_REQUEST))?;
    let force = cancel_body::force(&body)?;
    let cancelled = calls
        .cancel(run, force, by, visitor.tasks())
        .await
        .map_err(|error| Problem::unanswered_run(&error, run, id))?;
    let status = match cancelled.status() {
        RunStatus::Running => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    let answer = RunAnswer {
        request_id: id,
        run: cancelled,
    };
    Ok(json::answer_in(local_time, status, &answer))
}

/// Why the task `name` ran, or why it does not.
pub(crate) async fn explanation(
    questions: &TaskClient,
    name: &str,
    visitor: &Visitor,
    local_time: &LocalTime,
    id: RequestId,
) -> Result<Response, Problem> {
    let explanation = questions
        .explanation(name, visitor.tasks())
        .await
        .map_err(|error| Problem::unanswered(&error, Some(name), id))?;
    let answer = ExplanationAnswer {
        request_id: id,
        explanation,
    };
    Ok(json::answer_in(local_time, StatusCode::OK, &answer))
}
