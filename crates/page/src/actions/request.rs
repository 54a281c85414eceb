//! From a form to the call of its action, and from the answer to the screen with the result.

use std::fmt::Write as _;

use cts_core::{RequestKey, RunId, TaskName};
use cts_proto::json::Word as _;
use cts_proto::run::v1::{ApprovalState, ListRunsResponse, RunStatus};
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::{self, Consents};
use super::confirmation::{Given, confirmation};
use super::consent;
use super::table::{Key, find};
use crate::address::{Query, escape};
use crate::api::ApiCall;
use crate::context::{Context, Refusal, read, succeeded};
use crate::form::KEY;

/// Most patterns of a set.
const MOST_PATTERNS: usize = 64;

/// An action and its target.
type Subject<'a> = (Key, &'a str);

/// Makes the call of the action at `path`, and returns the address of the screen with its result.
///
/// # Errors
///
/// `NOT_FOUND` if the action or its target does not exist; otherwise the reason why nothing was changed.
pub(crate) async fn carry_out(
    path: &str,
    values: &Query,
    context: &Context<'_>,
) -> Result<String, Refusal> {
    let found = find(path);
    let (key, target) = found.ok_or_else(|| Refusal::not_found("There is no such action."))?;
    let (action, subject) = (key.action(), (key, target.as_str()));
    check(key, values)?;
    if let Some(location) = answered_before(subject, values, context).await? {
        return Ok(context.link(&location));
    }
    if action.is_confirmed {
        let given = Given {
            address: &Query::default(),
            sent: Some(values),
        };
        let confirmation = confirmation(subject, given, context).await?;
        if let Some(fault) = confirmation.form.fault() {
            return Err(refused(fault));
        }
    }
    let request = request_key(key, values)?;
    let (method, mut path) = action.call_of(&target);
    if key == Key::Delete && !values.get("retain").is_empty() {
        path.push_str("?on_delete=retain");
    }
    if let Some(request) = request {
        let separator = if path.contains('?') { '&' } else { '?' };
        let _infallible = write!(path, "{separator}idempotency_key={request}");
    }
    let call = ApiCall {
        method: Method::from_bytes(method.as_bytes()).unwrap_or_default(),
        path,
        body: body(subject, values)?.map(|body| body.to_string()),
    };
    let answer = context.call(call).await;
    if key == Key::ApproveSet && answer.status == StatusCode::CONFLICT {
        unless_approved(&answer.body)?;
        return Ok(context.link(&location(subject, None)));
    }
    let answer = succeeded(answer).map_err(|refusal| match key {
        // The screen with the button exists, although nothing is rejected there any more.
        Key::Reopen => refused(&refusal.message),
        _ => refusal,
    })?;
    let run = match (key, request) {
        (Key::Run, _) => read::<Requested>(&answer)?.run,
        (_, Some(request)) => run_of(request, &target, context).await,
        (_, None) => None,
    };
    Ok(context.link(&location(subject, run.as_deref())))
}

#[derive(Deserialize)]
struct Requested {
    run: Option<String>,
}

fn refused(message: &str) -> Refusal {
    Refusal {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        message: message.to_owned(),
    }
}

fn unknown_form() -> Refusal {
    refused("The page has no such form: open it again.")
}

/// Refuses a form that no screen of the page has.
fn check(key: Key, values: &Query) -> Result<(), Refusal> {
    for (name, value) in values.members() {
        let most = match (key, name) {
            (Key::Release, "seen") => usize::MAX,
            (Key::ApproveSet, "task") => MOST_PATTERNS,
            _ => 1,
        };
        let is_known = key.action().fields.contains(&name) && !value.contains('\0');
        if !is_known || most < usize::MAX && values.all(name).take(most + 1).count() > most {
            return Err(unknown_form());
        }
    }
    Ok(())
}

/// Compares what the caller has seen with the present: returns the screen with the result if the same form was answered
/// before, and refuses if something else would happen by now. REST compares again where a change in between matters.
async fn answered_before(
    subject: Subject<'_>,
    values: &Query,
    context: &Context<'_>,
) -> Result<Option<String>, Refusal> {
    let (key, target) = subject;
    let seen = values.get("seen");
    let done = || Ok(Some(location(subject, None)));
    match key {
        Key::Cancel | Key::CancelByForce => {
            let run = answers::run(target, context).await?;
            let status = run.status().word();
            match run.status() {
                RunStatus::Cancelled => done(),
                RunStatus::Succeeded | RunStatus::Failed => {
                    Err(refused(&format!("The run has ended: it is {status}.")))
                }
                _ if status != seen => Err(refused(&format!(
                    "Nothing was cancelled: the run is {status} by now."
                ))),
                _ => Ok(None),
            }
        }
        Key::Delete => {
            let known = answers::task(target, context).await?;
            if known.on_delete == seen {
                return Ok(None);
            }
            Err(refused(
                "Nothing was deleted: the task has another `on_delete` by now.",
            ))
        }
        Key::Approve | Key::Reject => {
            let approval = answers::approval(target, context).await?;
            if approval.effect != values.get("effect") {
                let seen: String = seen.chars().take(200).collect();
                return Err(refused(&format!(
                    "Nothing was decided, because the effect has changed. Shown: {seen}. Now: {}.",
                    consent::changes(&approval)
                )));
            }
            let is_approval = key == Key::Approve;
            match approval.state() {
                ApprovalState::Waiting | ApprovalState::Unspecified => Ok(None),
                ApprovalState::Approved | ApprovalState::Used if is_approval => done(),
                ApprovalState::Rejected if !is_approval => done(),
                _ => Err(refused(&format!(
                    "Nothing was decided: the effect is {}.",
                    consent::state(&approval)
                ))),
            }
        }
        _ => Ok(None),
    }
}

/// Key of the request of the form; `None` for a form that requests no run.
fn request_key(key: Key, values: &Query) -> Result<Option<RequestKey>, Refusal> {
    if !key.action().requests_run() {
        return Ok(None);
    }
    let key = values.get(KEY).parse();
    key.map(Some).map_err(|_none| unknown_form())
}

/// The run of the request with this key; `None` where nothing was applied, so that no destruction is planned, and with a
/// scheduler of an earlier version, which knows no keys.
async fn run_of(request: RequestKey, task: &str, context: &Context<'_>) -> Option<String> {
    let path = format!("/v1/runs?task={}&limit=20", escape(task));
    let listed: ListRunsResponse = context.get(&path).await.ok()?;
    let ids = listed.runs.into_iter().map(|run| run.id);
    let name = TaskName::new(task).ok()?;
    let has_key = |id: RunId| id.has_key(request, &name);
    let is_of = |id: &String| id.parse().is_ok_and(has_key);
    ids.into_iter().find(is_of)
}

/// The body of the call.
fn body((key, _): Subject<'_>, values: &Query) -> Result<Option<Value>, Refusal> {
    let number = |name| {
        let number = values.get(name).parse::<u64>();
        number.map_err(|_none| {
            refused("Nothing was shown that could be released: open the form again.")
        })
    };
    let comment = values.get("comment");
    Ok(Some(match key {
        Key::Run | Key::Inspect | Key::Enable => json!({ "enabled": true }),
        Key::Disable => json!({ "enabled": false }),
        Key::Release => {
            let seen: Result<Vec<_>, _> = values.all("seen").map(loss).collect();
            json!({ "seen": seen? })
        }
        Key::DecideState => match values.get("decision") {
            keep @ ("old" | "new") => json!({ "keep": keep }),
            "from" => json!({ "from": values.get("from") }),
            _ => return Err(refused("Nothing was decided: choose one of the buttons.")),
        },
        Key::Cancel => json!({ "force": false }),
        Key::CancelByForce => json!({ "force": true }),
        Key::ApproveSet => {
            let patterns: Vec<_> = values.all("task").collect();
            json!({ "tasks": patterns, "set": values.get("set"), "comment": comment })
        }
        Key::Reopen => json!({ "task": values.get("task") }),
        Key::Approve | Key::Reject => json!({ "effect": values.get("effect"), "comment": comment }),
        Key::ReleaseBrake => json!({ "seen": { "lost": number("lost")?, "of": number("of")? } }),
        Key::PlanDestruction | Key::Delete | Key::Drain => return Ok(None),
    }))
}

/// A loss as the form of a release carries it, such as `2 web`.
fn loss(seen: &str) -> Result<Value, Refusal> {
    let read = || {
        let (now, service) = seen.split_once(' ')?;
        Some(json!({ "service": service, "now": now.parse::<u32>().ok()? }))
    };
    read().ok_or_else(unknown_form)
}

/// Refuses a set that has changed, with the difference, unless all that is missing in it was approved.
fn unless_approved(conflict: &[u8]) -> Result<(), Refusal> {
    let now: Consents = read(conflict)?;
    let is_approved = |task: &String| {
        let mut approvals = now.approvals.iter();
        approvals.any(|it| it.task_name == *task && it.state() == ApprovalState::Approved)
    };
    if now.came.is_empty()
        && now.changed.is_empty()
        && !now.went.is_empty()
        && now.went.iter().all(is_approved)
    {
        return Ok(());
    }
    let lists = [
        ("Came", &now.came),
        ("Went", &now.went),
        ("Changed", &now.changed),
    ];
    let lists = lists.iter().filter(|(_, tasks)| !tasks.is_empty());
    let lists: Vec<_> = lists
        .map(|(word, tasks)| format!("{word}: {}.", tasks.join(", ")))
        .collect();
    Err(refused(&format!(
        "Nothing was approved, because the effects that wait have changed. {}",
        lists.join(" ")
    )))
}

/// Path of the screen that shows what became of an action.
pub(super) fn home((key, target): Subject<'_>) -> String {
    let target = escape(target);
    match key {
        Key::Run | Key::Inspect | Key::Enable | Key::Disable | Key::Release | Key::DecideState => {
            format!("tasks/{target}")
        }
        Key::PlanDestruction => format!("tasks/{target}/delete"),
        Key::Delete => "tasks".to_owned(),
        Key::Cancel | Key::CancelByForce => format!("runs/{target}"),
        Key::ApproveSet | Key::Reopen => "approvals".to_owned(),
        Key::Approve | Key::Reject => format!("approvals/{target}"),
        Key::ReleaseBrake | Key::Drain => "cluster".to_owned(),
    }
}

/// Path and query of the screen with the result: that of `run` if the action made one.
fn location(subject: Subject<'_>, run: Option<&str>) -> String {
    let word = subject.0.action().word;
    match (subject.0, run.map(escape)) {
        (Key::Run | Key::Inspect, Some(run)) => format!("runs/{run}?done={word}"),
        (_, Some(run)) => format!("{}?done={word}&run={run}", home(subject)),
        (_, None) => format!("{}?done={word}", home(subject)),
    }
}
