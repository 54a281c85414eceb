//! `cts status`: everything on one screen.

use std::io::{IsTerminal as _, stdout};
use std::time::Duration;

use cts_api_client::{ApiClient, Overview};
use cts_proto::cluster::v1::{
    GetOverviewResponse, ObservedData, OverviewWatcher, Problem, WorkerCondition,
};
use cts_proto::overview;
use cts_proto::run::v1::GetQueueResponse;
use serde_json::json;

use super::release::brake::{first_lines, not_set};
use super::session::{ExitStatus, Session};
use super::state_text;
use crate::arguments::{Output, Status, TableWidth};
use crate::commands::table::{sheet, table};
use crate::commands::time_text::{local, moment};
use crate::commands::times;

/// The next step for problems of tasks.
const OF_TASKS: &str =
    "`cts task explain TASK` shows what it waits for, `cts task logs TASK` its newest output";

/// Time between two screens of `-watch`.
const AGAIN: Duration = Duration::from_secs(2);

/// Moves the cursor of a terminal to the top and clears the screen.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

pub(super) async fn run(session: &mut Session<'_>, options: &Status) -> Result<(), ExitStatus> {
    let output = options.query.output;
    let client = session.client(&options.query.client)?;
    let text = screen(session, &client, options).await?;
    session.ui.result(&text);
    if !options.watch {
        return Ok(());
    }
    let before = match output {
        Output::Json => "",
        Output::Table if stdout().is_terminal() => CLEAR,
        Output::Table => "\n",
    };
    loop {
        tokio::time::sleep(AGAIN).await;
        // A failure has been shown; the next screen may succeed.
        if let Ok(text) = screen(session, &client, options).await {
            session.ui.result(&format!("{before}{text}"));
        }
    }
}

async fn screen(
    session: &mut Session<'_>,
    client: &ApiClient,
    options: &Status,
) -> Result<String, ExitStatus> {
    let query = &options.query;
    let width = query.wide.width();
    if options.times {
        let times = client.times(&options.since).await.map_err(|error| {
            let headline = "Error: unable to get the times of changes";
            session.call_failed(headline, &error)
        })?;
        return Ok(query
            .output
            .text(|| times::page(&times, width), || json!(times)));
    }
    let overview = client.overview().await.map_err(|error| {
        let headline = "Error: unable to get the status";
        session.call_failed(headline, &error)
    })?;
    Ok(query
        .output
        .text(|| page(&overview, width), || json!(overview)))
}

fn page(overview: &Overview, width: TableWidth) -> String {
    let mut entries = vec![
        ("Cluster", cluster(overview)),
        ("Workers", workers(overview)),
    ];
    if !overview.watchers.is_empty() {
        let watchers: Vec<String> = overview.watchers.iter().map(watcher).collect();
        entries.push(("Watchers", watchers.join(", ")));
    }
    entries.extend([
        ("Queue", queue(overview.queue.as_ref())),
        ("Consul", consul(overview.data.as_ref())),
        (
            "Tasks",
            format!(
                "{}{}",
                overview::tasks(overview),
                overview::states(overview)
            ),
        ),
    ]);
    let brake = overview.brake.as_ref();
    entries.extend(not_set(brake).map(|text| ("Brake", text)));
    let brake = first_lines(brake, moment(overview.at), width);
    format!("{brake}{}\n{}", problems(overview, width), sheet(entries))
}

fn problems(overview: &GetOverviewResponse, width: TableWidth) -> String {
    if overview.problems.is_empty() {
        return format!("{}.\n", overview::problems(overview));
    }
    let mut text = table(
        ["TASK", "PROBLEM"],
        overview.problems.iter().map(row),
        width,
    );
    if overview.more_problems > 0 {
        text = format!("{text}and {} more problems\n", overview.more_problems);
    }
    let mut problems = overview.problems.iter();
    if problems.any(|problem| problem.state.is_some()) {
        text = format!("{text}{OF_TASKS}\n");
    }
    text
}

fn row(problem: &Problem) -> [String; 2] {
    match &problem.state {
        Some(state) => [problem.task_name.clone(), state_text::sentence(state)],
        None => [String::new(), problem.text.clone()],
    }
}

fn cluster(overview: &GetOverviewResponse) -> String {
    let members = &overview.members;
    let leader = members.iter().find(|member| member.leader);
    let leads = leader.map_or_else(
        || "no scheduler leads".to_owned(),
        |leader| format!("{} leads", leader.id),
    );
    let healthy = members.iter().filter(|member| member.healthy).count();
    format!(
        "{leads}; healthy schedulers: {healthy} of {}",
        members.len()
    )
}

fn workers(overview: &GetOverviewResponse) -> String {
    let count = |condition| {
        let workers = overview.workers.iter();
        workers
            .filter(|worker| worker.condition() == condition)
            .count()
    };
    let mut parts = vec![format!("{} active", count(WorkerCondition::Active))];
    for (condition, word) in [
        (WorkerCondition::Draining, "draining"),
        (WorkerCondition::Lost, "lost"),
    ] {
        match count(condition) {
            0 => {}
            number => parts.push(format!("{number} {word}")),
        }
    }
    let queue = overview.queue.clone().unwrap_or_default();
    let slots = format!("slots in use: {} of {}", queue.running, queue.slots);
    format!("{}; {slots}", parts.join(", "))
}

fn watcher(watcher: &OverviewWatcher) -> String {
    let condition = match (watcher.healthy, watcher.since) {
        (true, _) => "healthy",
        (false, None) if watcher.reason.is_empty() => "not known yet",
        (false, _) => "not usable",
    };
    let since = moment(watcher.since).map(|since| format!(" since {}", local(since)));
    format!(
        "{} {condition}{}",
        watcher.address,
        since.unwrap_or_default()
    )
}

fn queue(queue: Option<&GetQueueResponse>) -> String {
    let queue = queue.cloned().unwrap_or_default();
    let oldest = queue.oldest_ready.map_or_else(String::new, |oldest| {
        format!(", the oldest for {} s", oldest.seconds)
    });
    let awaiting = match queue.awaiting_consent {
        0 => String::new(),
        runs => format!(", {runs} waiting for consent"),
    };
    format!(
        "{} queued, {} ready{oldest}{awaiting}",
        queue.queued, queue.ready
    )
}

fn consul(data: Option<&ObservedData>) -> String {
    let data = data.cloned().unwrap_or_default();
    let mut text = format!("views: {}", data.views);
    if data.incomplete > 0 {
        text = format!("{text}, not read yet: {}", data.incomplete);
    }
    if data.unreadable > 0 {
        let since = moment(data.unreadable_since).map(local);
        let since = since.unwrap_or_default();
        text = format!("{text}, not readable since {since}: {}", data.unreadable);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cts_proto::cluster::v1::{OverviewMember, OverviewWorker};
    use cts_proto::task::v1::CurrentState;
    use serde_json::Value;

    use super::*;

    fn shown(overview: &GetOverviewResponse) -> String {
        let sent: Value = json!(overview);
        page(&serde_json::from_value(sent).unwrap(), TableWidth::Whole)
    }

    #[test]
    fn problems_come_first_and_everything_has_its_line() {
        let worker = |condition: WorkerCondition| OverviewWorker {
            condition: condition.into(),
            ..OverviewWorker::default()
        };
        let overview = GetOverviewResponse {
            problems: vec![Problem {
                text: "no scheduler leads, so changes are not looked at".into(),
                ..Problem::default()
            }],
            more_problems: 2,
            members: vec![OverviewMember::default()],
            workers: vec![
                worker(WorkerCondition::Active),
                worker(WorkerCondition::Lost),
            ],
            queue: Some(GetQueueResponse {
                queued: 3,
                awaiting_consent: 6,
                ready: 2,
                running: 1,
                oldest_ready: Some(prost_types::Duration {
                    seconds: 7,
                    nanos: 0,
                }),
                slots: 4,
                waiting: Vec::new(),
            }),
            data: Some(ObservedData {
                views: 5,
                incomplete: 1,
                ..ObservedData::default()
            }),
            tasks: BTreeMap::from([("never_run".to_owned(), 2), ("running".to_owned(), 1)]),
            at: None,
            watchers: [("10.0.0.1:8561", true), ("10.0.0.2:8561", false)]
                .map(|(address, healthy)| OverviewWatcher {
                    address: address.into(),
                    healthy,
                    ..OverviewWatcher::default()
                })
                .into(),
            brake: None,
        };
        let expected = "\
TASK  PROBLEM
      no scheduler leads, so changes are not looked at
and 2 more problems

Cluster:   no scheduler leads; healthy schedulers: 0 of 1
Workers:   1 active, 1 lost; slots in use: 1 of 4
Watchers:  10.0.0.1:8561 healthy, 10.0.0.2:8561 not known yet
Queue:     3 queued, 2 ready, the oldest for 7 s, 6 waiting for consent
Consul:    views: 5, not read yet: 1
Tasks:     3: 2 never run, 1 running
";
        assert_eq!(shown(&overview), expected);
        let of_task = GetOverviewResponse {
            problems: vec![Problem {
                task_name: "web".into(),
                state: Some(CurrentState::default()),
                ..Problem::default()
            }],
            ..GetOverviewResponse::default()
        };
        let shown_task = shown(&of_task);
        let step = format!("\n{OF_TASKS}\n\n");
        assert!(shown_task.contains(&step), "{shown_task}");
        let quiet = shown(&GetOverviewResponse::default());
        assert!(quiet.starts_with("No problems.\n\nCluster:"), "{quiet}");
    }
}
