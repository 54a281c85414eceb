//! Why a task ran, or why it does not: a cts-only endpoint.

use cts_proto::task::v1 as proto;
use serde::Serialize;

use super::run::{RunObject, ShownTime, shown, word};
use crate::original::time_text::TimeText;
use crate::transport::request_log::RequestId;

/// The explanation of one task.
#[derive(Debug, Serialize)]
pub(crate) struct ExplanationAnswer<'a> {
    request_id: RequestId,
    explanation: ExplanationObject<'a>,
}

/// Absent values are left out.
#[derive(Debug, Serialize)]
struct ExplanationObject<'a> {
    task_name: &'a str,
    revision: u64,
    enabled: bool,
    phase: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<TimeText>,
    views: Vec<ViewObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buffered_until: Option<TimeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_tick: Option<TimeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_decision: Option<DecisionObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_run: Option<RunObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<RunObject<'a>>,
    obstacles: Vec<ObstacleObject<'a>>,
}

#[derive(Debug, Serialize)]
struct ViewObject<'a> {
    name: &'a str,
    complete: bool,
    triggers: bool,
    revision: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_at: Option<TimeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemObject<'a>>,
}

/// Why changes of a view are not seen.
#[derive(Debug, Serialize)]
struct ProblemObject<'a> {
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<TimeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try: Option<TimeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_answer: Option<TimeText>,
}

#[derive(Debug, Serialize)]
struct DecisionObject<'a> {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<TimeText>,
    #[serde(skip_serializing_if = "str::is_empty")]
    run_id: &'a str,
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct ObstacleObject<'a> {
    kind: String,
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<TimeText>,
}

impl<'a> ExplanationAnswer<'a> {
    /// Converts `explanation`, times shown by `local_time`.
    pub(crate) fn new(
        explanation: &'a proto::Explanation,
        local_time: ShownTime<'_>,
        request_id: RequestId,
    ) -> Self {
        let views = explanation.views.iter().map(|view| ViewObject {
            name: &view.name,
            complete: view.complete,
            triggers: view.triggers,
            revision: view.revision,
            changed_at: shown(view.changed_at.as_ref(), local_time),
            problem: view.problem.as_ref().map(|problem| ProblemObject {
                text: &problem.text,
                since: shown(problem.since.as_ref(), local_time),
                next_try: shown(problem.next_try.as_ref(), local_time),
                last_answer: shown(problem.last_answer.as_ref(), local_time),
            }),
        });
        let decision = explanation.last_decision.as_ref();
        let obstacles = explanation.obstacles.iter().map(|obstacle| ObstacleObject {
            kind: word(obstacle.kind().as_str_name(), "OBSTACLE_KIND_"),
            text: &obstacle.text,
            until: shown(obstacle.until.as_ref(), local_time),
        });
        let run = |run: Option<&'a cts_proto::run::v1::Run>| {
            run.map(|run| RunObject::new(run, local_time))
        };
        let explanation = ExplanationObject {
            task_name: &explanation.task_name,
            revision: explanation.revision,
            enabled: explanation.enabled,
            phase: word(explanation.phase().as_str_name(), "TASK_PHASE_"),
            as_of: shown(explanation.as_of.as_ref(), local_time),
            views: views.collect(),
            buffered_until: shown(explanation.buffered_until.as_ref(), local_time),
            next_tick: shown(explanation.next_tick.as_ref(), local_time),
            last_decision: decision.map(|decision| DecisionObject {
                kind: word(decision.kind().as_str_name(), "DECISION_KIND_"),
                at: shown(decision.at.as_ref(), local_time),
                run_id: &decision.run_id,
                text: &decision.text,
            }),
            current_run: run(explanation.current_run.as_ref()),
            last_run: run(explanation.last_run.as_ref()),
            obstacles: obstacles.collect(),
        };
        Self {
            request_id,
            explanation,
        }
    }
}
