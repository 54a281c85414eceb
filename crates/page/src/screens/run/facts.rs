//! State, reasons, times and results of a run.

use askama::Template;
use cts_proto::json::Word as _;
use cts_proto::run::v1::run_output::Value;
use cts_proto::run::v1::{Run, RunDetails, RunPhase};

use crate::context::Context;
use crate::link::Link;
use crate::long::Long;
use crate::state::State;
use crate::text::Foreign;
use crate::time::{Millis, Time, between};

#[derive(Template)]
#[template(path = "run/facts.html")]
struct Facts<'a> {
    run: &'a Run,
    details: RunDetails,
    /// Why an apply would wait for consent; empty if it would not.
    would_wait: &'a str,
    context: &'a Context<'a>,
}

impl Facts<'_> {
    fn times(&self) -> [(&'static str, Option<Time>); 5] {
        let run = self.run;
        [
            ("Triggered", &run.triggered_at),
            ("Blocked since", &run.blocked_since),
            ("Queued", &run.queued_at),
            ("Began", &run.started_at),
            ("Ended", &run.finished_at),
        ]
        .map(|(name, at)| (name, Time::of(at.as_ref())))
    }

    fn waits(&self) -> [(&'static str, Option<Millis>); 4] {
        let run = self.run;
        [
            ("Blocked", &run.blocked_since, &run.queued_at),
            ("Buffered", &run.triggered_at, &run.queued_at),
            ("In the queue", &run.queued_at, &run.started_at),
            ("Took", &run.started_at, &run.finished_at),
        ]
        .map(|(name, from, to)| (name, between(from.as_ref(), to.as_ref())))
    }
}

pub(super) fn render(run: &Run, context: &Context<'_>) -> String {
    let would_wait = run.plan.as_ref().map(|plan| plan.would_wait.as_str());
    let facts = Facts {
        run,
        details: run.details.clone().unwrap_or_default(),
        would_wait: would_wait.unwrap_or_default(),
        context,
    };
    facts.render().unwrap_or_default()
}
