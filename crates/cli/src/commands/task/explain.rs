//! `cts task explain`.

use cts_api_client::Explanation;
use cts_proto::json::Word as _;
use cts_proto::run::v1::Run;
use cts_proto::task::v1::{Decision, ObservedView, Obstacle};
use serde_json::json;

use super::session::{ExitStatus, Session};
use super::state_text;
use crate::arguments::{OneTask, Output, TableWidth};
use crate::commands::table::{sheet, table};
use crate::commands::time_text::{local, moment, with_local_times};

pub(super) async fn run(session: &mut Session<'_>, task: &OneTask) -> Result<(), ExitStatus> {
    let OneTask { query, name } = task;
    let client = session.client(&query.client)?;
    let explanation = client
        .explanation(name)
        .await
        .map_err(|error| session.unanswered("explain", name, &error))?;
    let text = match query.output {
        Output::Json => format!("{:#}\n", json!(explanation)),
        Output::Table => page(&explanation, query.wide.width()),
    };
    session.ui.result(&text);
    Ok(())
}

fn page(explanation: &Explanation, width: TableWidth) -> String {
    let state = explanation.state.as_ref();
    let obstacles: Vec<String> = explanation.obstacles.iter().map(obstacle).collect();
    let optional = [
        ("State", state.map(state_text::sentence).unwrap_or_default()),
        ("Waits for", obstacles.join("\n")),
        ("Buffered", until(explanation.buffered_until)),
        ("Next tick", until(explanation.next_tick)),
        (
            "Decided",
            explanation
                .last_decision
                .as_ref()
                .map(decision)
                .unwrap_or_default(),
        ),
        (
            "Current run",
            explanation
                .current_run
                .as_ref()
                .map(run_line)
                .unwrap_or_default(),
        ),
        (
            "Last run",
            explanation
                .last_run
                .as_ref()
                .map(run_line)
                .unwrap_or_default(),
        ),
        ("Noted", until(explanation.as_of)),
    ];
    let task = [("Task", explanation.task_name.clone())];
    let optional = optional.into_iter().filter(|(_, text)| !text.is_empty());
    let sheet = sheet(task.into_iter().chain(optional));
    if explanation.views.is_empty() {
        return sheet;
    }
    let views = table(
        ["VIEW", "READ", "TRIGGERS", "CHANGED", "PROBLEM"],
        explanation.views.iter().map(view),
        width,
    );
    format!("{sheet}\n{views}")
}

fn until(at: Option<prost_types::Timestamp>) -> String {
    moment(at).map(local).unwrap_or_default()
}

fn obstacle(obstacle: &Obstacle) -> String {
    let text = with_local_times(&obstacle.text);
    match moment(obstacle.until).map(local) {
        Some(until) => format!("{text} (until {until})"),
        None => text,
    }
}

fn decision(decision: &Decision) -> String {
    let run = match decision.run_id.as_str() {
        "" => String::new(),
        run => format!(" ({run})"),
    };
    format!("{}: {}{run}", until(decision.at), decision.text)
}

fn run_line(run: &Run) -> String {
    let mut text = format!("{} {}, {}", run.kind().word(), run.id, run.status().word());
    let at = moment(run.finished_at).or_else(|| moment(run.started_at));
    if let Some(at) = at.map(local) {
        text = format!("{text} {at}");
    }
    if !run.worker_id.is_empty() {
        text = format!("{text} on {}", run.worker_id);
    }
    if run.attempts > 1 {
        text = format!("{text}, attempts: {}", run.attempts);
    }
    let causes = run.cause_ids.iter().map(|id| format!("cause {id}"));
    for line in run.cause.iter().cloned().chain(causes) {
        text = format!("{text}\n{line}");
    }
    text
}

fn view(view: &ObservedView) -> [String; 5] {
    let yes = |value| if value { "yes" } else { "no" }.to_owned();
    let problem = view.problem.as_ref().map(|problem| {
        let since = until(problem.since);
        format!("since {since}: {}", problem.text)
    });
    [
        view.name.clone(),
        yes(view.complete),
        yes(view.triggers),
        until(view.changed_at),
        problem.unwrap_or_default(),
    ]
}
