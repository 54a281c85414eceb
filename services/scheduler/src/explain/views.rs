//! Views in explanations: as members of the answer, and in the texts of obstacles.

use chrono::{DateTime, SecondsFormat, Utc};
use cts_proto::task::v1 as proto;
use cts_rpc::convert;

use super::known::{KnownProblem, KnownUnreadable, KnownView};

/// The text of an obstacle for keys that cannot be read.
pub(super) fn unreadable_text(view: &str, unreadable: &KnownUnreadable) -> String {
    let KnownUnreadable {
        keys,
        waits,
        left_out,
    } = unreadable;
    let text = format!("values of {view} are not text in UTF-8, or longer than 2 MiB: {keys}");
    match left_out {
        _ if *waits => format!(
            "{text}; the task was never applied, and waits for them: put texts there, or delete these keys"
        ),
        None => format!("{text}; the values that were applied last are used"),
        Some(left_out) => format!(
            "{text}; the values that were applied last are used, and keys without one are left out: {left_out}"
        ),
    }
}

/// The problems that hinder the reading of these views, with the first as the example; `None` without problems.
pub(super) fn told_problems(views: &[&KnownView]) -> Option<String> {
    let mut problems = views
        .iter()
        .filter_map(|view| Some((&view.name, view.problem.as_ref()?)));
    let (name, problem) = problems.next()?;
    let more = match problems.count() {
        0 => String::new(),
        others => format!(" (and {others} more)"),
    };
    let since = problem.since.to_rfc3339_opts(SecondsFormat::Secs, true);
    let text = &problem.text;
    Some(format!("{name}{more} cannot be read since {since}: {text}"))
}

fn problem(problem: KnownProblem, now: DateTime<Utc>) -> proto::ViewProblem {
    // A past try was the newest of many that was stored.
    let next_try = problem.next_try.filter(|at| *at > now);
    proto::ViewProblem {
        text: problem.text,
        since: Some(convert::timestamp_to_wire(problem.since)),
        next_try: next_try.map(convert::timestamp_to_wire),
        last_answer: problem.last_answer.map(convert::timestamp_to_wire),
    }
}

/// A view for the wire.
pub(super) fn view(view: KnownView, now: DateTime<Utc>) -> proto::ObservedView {
    proto::ObservedView {
        name: view.name,
        complete: view.complete,
        revision: view.revision,
        changed_at: view.changed_at.map(convert::timestamp_to_wire),
        triggers: view.triggers,
        problem: view.problem.map(|known| problem(known, now)),
    }
}
