//! The consent that the plans of inspections would need.

use std::sync::Arc;

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{ApprovalRule, PlanFacts, RunId, TaskName};
use cts_proto::run::v1::Planned;
use cts_store::{PlanSummary, RunFilter, ShownEffect, Store, StoreError};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::content::decode;
use super::facts::{counts_text, facts, summary};

/// Most plans in memory for these answers.
const ROOM: usize = 2;

/// Runs among which an inspection is looked for.
const RUNS: u32 = 100;

/// Most inspections of a task whose plans are read: more are not kept.
const INSPECTIONS: usize = cts_store::INSPECTION_PLANS_KEPT as usize;

/// Reads the plans of inspections; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Inspections {
    store: Arc<dyn Store>,
    room: Arc<Semaphore>,
}

/// A plan, as the rules see it.
struct Seen {
    facts: PlanFacts,
    summary: PlanSummary,
}

impl Inspections {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let room = Arc::new(Semaphore::new(ROOM));
        Self { store, room }
    }

    /// Adds to the plan of a run whether an apply would wait for consent by the rule in force.
    pub(crate) async fn judge(
        &self,
        run: RunId,
        task: &TaskName,
        planned: &mut Planned,
    ) -> Result<(), StoreError> {
        let rule = self.store.approval_rule(task).await?;
        let Some(rule) = rule.filter(|rule| *rule != ApprovalRule::Never) else {
            return Ok(());
        };
        if let Some(seen) = self.seen(run).await?
            && seen.facts.need_consent(rule)
        {
            planned.would_wait = reason(rule, &seen);
            planned.effect = seen.facts.effect.unwrap_or_default();
        }
        Ok(())
    }

    /// The newest inspection of a task that has shown this effect.
    pub(crate) async fn showing(
        &self,
        task: &TaskName,
        effect: &str,
        by: &str,
    ) -> Result<Option<ShownEffect>, StoreError> {
        let filter = RunFilter {
            task: Some(task.clone()),
            status: Some(RunStatus::Succeeded),
            limit: RUNS,
            ..RunFilter::default()
        };
        let runs = self.store.runs(&filter).await?.into_iter();
        let inspections = runs.filter(|run| run.kind == RunKind::Plan);
        for run in inspections.take(INSPECTIONS) {
            let seen = self.seen(run.id).await?;
            if let Some(seen) = seen.filter(|it| it.facts.effect.as_deref() == Some(effect)) {
                return Ok(Some(ShownEffect {
                    inspection: run.id,
                    effect: effect.to_owned(),
                    summary: seen.summary,
                    by: by.to_owned(),
                }));
            }
        }
        Ok(None)
    }

    /// The plan of a run; `None` if it is not kept or cannot be read.
    async fn seen(&self, run: RunId) -> Result<Option<Seen>, StoreError> {
        // Before the plan is in memory.
        let permit = Arc::clone(&self.room).acquire_owned().await;
        let Some(content) = self.store.recorded_plan(run).await? else {
            return Ok(None);
        };
        let reading = spawn_blocking(move || {
            let _held = permit;
            decode(&content).map(|plan| Seen {
                facts: facts(&plan),
                summary: summary(&plan),
            })
        });
        let problem = match reading.await {
            Ok(Ok(seen)) => return Ok(Some(seen)),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::error!(run.id = %run, error = problem, "a stored plan cannot be read");
        Ok(None)
    }
}

/// Why a plan would need consent, such as `rule destroy, 2 to destroy`.
fn reason(rule: ApprovalRule, seen: &Seen) -> String {
    let mut parts = vec![format!("rule {}", rule.as_str())];
    let counts = counts_text(&seen.summary);
    if !counts.is_empty() {
        parts.push(counts);
    }
    if seen.facts.unclear {
        parts.push("the plan does not show everything".to_owned());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_the_rule_and_the_changes() {
        let seen = |deleted, unclear| Seen {
            facts: PlanFacts {
                unclear,
                ..PlanFacts::default()
            },
            summary: PlanSummary {
                deleted,
                ..PlanSummary::default()
            },
        };
        for (deleted, unclear, text) in [
            (2, false, "rule destroy, 2 to destroy"),
            (0, true, "rule destroy, the plan does not show everything"),
        ] {
            let seen = seen(deleted, unclear);
            assert_eq!(reason(ApprovalRule::Destroy, &seen), text);
        }
    }
}
