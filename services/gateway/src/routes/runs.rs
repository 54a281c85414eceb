//! Cts-only endpoints about runs and about why a task runs. Their errors are the ones of the new family.

use axum::response::Response;
use cts_core::callers::{TaskPatterns, VALUES_HIDDEN};
use cts_proto::run::v1::{ListRunsResponse, Run, RunStatus};
use http::StatusCode;

use crate::api_request::ApiRequest;
use crate::model::{ExplanationAnswer, PlanAnswer, RunAnswer};
use crate::problem::Problem;
use crate::request::cancel_body;
use crate::request::parameters::{self, RunIncludes, RunsQuery};
use crate::routes::changes::Received;
use crate::scheduler_client::{CallError, RunClient, TaskClient};

/// Most pages that are read for one request of a caller who may see only the runs of some tasks.
const MOST_PAGES: u32 = 20;

/// A page of runs that the caller may see, newest first.
pub(crate) async fn runs(questions: &RunClient, request: &ApiRequest) -> Result<Response, Problem> {
    let query = parameters::runs(request.query())?;
    let page = match request.visitor.tasks() {
        Some(_) if !query.task.is_empty() => {
            request.visitor.may_name(&query.task)?;
            questions.runs(query, None).await
        }
        Some(tasks) => some_runs(questions, query, tasks).await,
        None => questions.runs(query, None).await,
    };
    Ok(request.id_first(StatusCode::OK, page?))
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

/// A page of causes, newest first, with the tasks that the caller may see.
pub(crate) async fn causes(
    questions: &RunClient,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let query = parameters::causes(request.query())?;
    let page = questions.causes(query, request.visitor.tasks()).await?;
    Ok(request.id_first(StatusCode::OK, page))
}

/// Refuses a run of a task that the caller may not name, as if it did not exist.
pub(crate) async fn require_visible(
    questions: &RunClient,
    run: &str,
    request: &ApiRequest,
) -> Result<(), Problem> {
    if request.visitor.tasks().is_some() {
        visible(questions, run, RunIncludes::default(), request).await?;
    }
    Ok(())
}

/// The run, unless it is of a task that the caller may not name.
pub(crate) async fn visible(
    questions: &RunClient,
    run: &str,
    includes: RunIncludes,
    request: &ApiRequest,
) -> Result<Run, CallError> {
    let found = questions
        .run(run, includes, request.visitor.tasks())
        .await?;
    if request.visitor.sees(&found.task_name) {
        Ok(found)
    } else {
        Err(CallError::NoSuchRun(run.to_owned()))
    }
}

/// The run `run`.
pub(crate) async fn run(
    questions: &RunClient,
    run: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let includes = parameters::run_includes(request.query())?;
    let answer = RunAnswer {
        request_id: request.id,
        run: shown(visible(questions, run, includes, request).await?, request),
    };
    Ok(request.answer(StatusCode::OK, &answer))
}

/// The run without the text of its plan, if the caller may not see that.
fn shown(mut run: Run, request: &ApiRequest) -> Run {
    if let Some(plan) = &mut run.plan
        && !request.visitor.sees_values()
    {
        VALUES_HIDDEN.clone_into(&mut plan.text);
    }
    run
}

/// The plan of the run `run`, as data.
pub(crate) async fn plan(
    questions: &RunClient,
    run: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    visible(questions, run, RunIncludes::default(), request).await?;
    let answer = PlanAnswer {
        request_id: request.id,
        plan: questions.plan(run, request.visitor.sees_values()).await?,
    };
    Ok(request.answer(StatusCode::OK, &answer))
}

/// The input of the run `run`, as data.
pub(crate) async fn input(
    questions: &RunClient,
    run: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    visible(questions, run, RunIncludes::default(), request).await?;
    let input = questions.input(run, request.visitor.sees_inputs()).await?;
    Ok(request.id_first(StatusCode::OK, input))
}

/// Cancels the run `run`: 202 while its worker stops the run, 200 if no further step follows.
pub(crate) async fn cancel(
    calls: &RunClient,
    run: &str,
    body: Received,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let body = body.map_err(|error| Problem::without_body(&error, StatusCode::BAD_REQUEST))?;
    let force = cancel_body::force(&body)?;
    let (by, tasks) = (request.on_behalf(), request.visitor.tasks());
    let answer = RunAnswer {
        request_id: request.id,
        run: calls.cancel(run, force, &by, tasks).await?,
    };
    let status = match answer.run.status() {
        RunStatus::Running => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    Ok(request.answer(status, &answer))
}

/// Why the task `name` ran, or why it does not.
pub(crate) async fn explanation(
    questions: &TaskClient,
    name: &str,
    request: &ApiRequest,
) -> Result<Response, Problem> {
    let answer = ExplanationAnswer {
        request_id: request.id,
        explanation: questions.explanation(name, request.visitor.tasks()).await?,
    };
    Ok(request.answer(StatusCode::OK, &answer))
}
