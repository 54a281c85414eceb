//! Decisions of people about effects.

use cts_core::callers::{AuditAction, AuditRecord};
use cts_core::{Chain, TaskName};
use cts_proto::run::v1 as proto;
use cts_rpc::convert;
use cts_store::{Approval, ApprovalDecision, ApprovalError, COMMENT_BYTES};
use tonic::{Code, Request, Status};

use super::answers::{approval_to_wire, decided_text};
use super::sets::set_of;
use super::{ApprovalEndpoint, ChosenTasks};
use crate::approval::waiting::waiting;
use crate::audit::recorder::{note, outcome_of, record};
use crate::status::{OrStatus as _, store_failure};
use crate::tasks::refusal::{declined, unknown_task};

/// Most tasks that a refusal names.
const NAMED: usize = 20;

impl ApprovalEndpoint {
    /// Approves or rejects the effect of one run.
    pub(super) async fn decide(
        &self,
        request: Request<proto::DecideApprovalRequest>,
    ) -> Result<proto::DecideApprovalResponse, Status> {
        let action = if request.get_ref().reject {
            AuditAction::Reject
        } else {
            AuditAction::Approve
        };
        let record = record(&request, action, &request.get_ref().run_id);
        let request = request.into_inner();
        let record = record.with("effect", &request.effect);
        let record = record.with("comment", &request.comment);
        let decided = self.decide_one(request, record.clone()).await;
        let approval = Some(approval_to_wire(self.noted(record, decided).await?));
        Ok(proto::DecideApprovalResponse { approval })
    }

    async fn decide_one(
        &self,
        request: proto::DecideApprovalRequest,
        record: AuditRecord,
    ) -> Result<Approval, Status> {
        let run = convert::run_id(&request.run_id)?;
        let comment = comment(request.comment)?;
        let named = self.store.approval_of(run, Some(&request.effect)).await;
        let Some(approval) = named.or_status()? else {
            let newest = self.known(run, None).await?.effect;
            return Err(changed(format!(
                "the newest effect of run {run} is {newest}, and not the one that was named"
            )));
        };
        let is_open = match approval.state {
            proto::ApprovalState::Waiting => true,
            // What nobody has used can still be rejected.
            proto::ApprovalState::Approved => request.reject,
            _ => false,
        };
        if !is_open {
            let decided = approval.decided.as_ref().map(decided_text);
            return Err(changed(format!(
                "the effect of run {run} does not wait for a decision: {}",
                decided.as_deref().unwrap_or("it is decided already")
            )));
        }
        let decision = ApprovalDecision {
            effects: vec![(approval.task.clone(), approval.effect.clone())],
            rejects: request.reject.then(|| self.identities.event_id()),
            by: record.caller.to_string(),
            comment,
        };
        let record = record.with("task", &approval.task);
        let decided = self.store_decision(record, &decision).await;
        decided?
            .pop()
            .ok_or_else(|| changed(format!("the effect of run {run} was withdrawn")))
    }

    /// Approves the effects of several tasks, which the caller has seen as a set.
    pub(super) async fn approve_all(
        &self,
        request: Request<proto::ApproveSetRequest>,
    ) -> Result<proto::ApproveSetResponse, Status> {
        let tasks = request.get_ref().tasks.join(", ");
        let record = record(&request, AuditAction::Approve, &tasks);
        let request = request.into_inner();
        let record = record.with("set", &request.set);
        let record = record.with("comment", &request.comment);
        let approved = self.approve_these(request, record.clone()).await;
        let approved = self.noted(record, approved).await?;
        Ok(proto::ApproveSetResponse {
            approvals: approved.into_iter().map(approval_to_wire).collect(),
        })
    }

    async fn approve_these(
        &self,
        request: proto::ApproveSetRequest,
        record: AuditRecord,
    ) -> Result<Vec<Approval>, Status> {
        let comment = comment(request.comment)?;
        if request.set.is_empty() {
            return Err(Status::invalid_argument(
                "a set is needed, as ListApprovals answers it",
            ));
        }
        let chosen = ChosenTasks::of(request.tasks, request.visible_tasks)?;
        let approvals = self.chosen(&chosen).await?;
        let waiting = waiting(&approvals);
        if set_of(&waiting) != request.set {
            let waiting = waiting.iter().map(|it| &it.task);
            return Err(changed(format!(
                "the effects that wait are not those of the set any more; now they are of {}",
                named(waiting)
            )));
        }
        let effects = waiting.iter();
        let decision = ApprovalDecision {
            effects: effects
                .map(|it| (it.task.clone(), it.effect.clone()))
                .collect(),
            rejects: None,
            by: record.caller.to_string(),
            comment,
        };
        let record = record.with("effects", &decision.effects.len());
        self.store_decision(record, &decision).await
    }

    /// Stores a decision with the record of its call, and wakes everything that waits for it.
    async fn store_decision(
        &self,
        record: AuditRecord,
        decision: &ApprovalDecision,
    ) -> Result<Vec<Approval>, Status> {
        let decided = self
            .store
            .recording(record)
            .decide_approvals(decision)
            .await;
        let decided = decided.map_err(|error| match error {
            ApprovalError::Changed(tasks) => changed(format!(
                "effects do not wait for a decision any more: of {}",
                named(tasks.iter())
            )),
            ApprovalError::Store(error) => store_failure(&error),
        })?;
        let requested_by = decision.by.as_str();
        let word = decision.rejects.map_or("approved", |_event| "rejected");
        for approval in &decided {
            let Approval {
                task, effect, run, ..
            } = approval;
            tracing::info!(target: "ctrl", task_name = %task, run.id = %run, effect, requested_by, comment = decision.comment, "the effect of a run is {word}");
            if decision.rejects.is_some() {
                self.tell_end(approval).await;
            }
            self.notifier.approval_changed(*run, effect);
        }
        self.notifier.tasks_changed();
        self.notifier.queue_changed();
        Ok(decided)
    }

    /// Announces that the run of a rejected effect has ended.
    async fn tell_end(&self, approval: &Approval) {
        match self.store.run(approval.run).await {
            Ok(Some(run)) if run.status.is_end() => {
                self.notifier
                    .run_changed(run.id, &run.task, run.kind, run.status);
            }
            Ok(_) => {}
            // Its waiters poll.
            Err(error) => {
                tracing::debug!(run.id = %approval.run, error = %Chain(&error), "the end of a rejected run is not announced");
            }
        }
    }

    /// Forgets the rejections of a task.
    pub(super) async fn reopen(
        &self,
        request: Request<proto::ReopenApprovalRequest>,
    ) -> Result<proto::ReopenApprovalResponse, Status> {
        let name = &request.get_ref().task_name;
        let record = record(&request, AuditAction::Reopen, name);
        let reopened = self.reopen_task(name, record.clone()).await;
        let reopened = self.noted(record, reopened).await?;
        Ok(proto::ReopenApprovalResponse { reopened })
    }

    async fn reopen_task(&self, name: &str, record: AuditRecord) -> Result<u32, Status> {
        let task: TaskName = name.parse().map_err(|_no_name| unknown_task(name))?;
        let requested_by = record.caller.to_string();
        let recording = self.store.recording(record);
        let run = self.identities.run_id();
        let reopened = recording.reopen_approvals(&task, run).await.or_status()?;
        if reopened == 0 {
            let message = format!("task {task} does not exist or has no rejected effect");
            return Err(declined(Code::NotFound, "unknown", message));
        }
        tracing::info!(target: "ctrl", task_name = %task, effects = reopened, requested_by, "the rejected effects of the task are reopened");
        self.notifier.tasks_changed();
        self.notifier.queue_changed();
        Ok(reopened)
    }

    /// Stores the record of a call that was refused or has failed.
    async fn noted<T>(&self, record: AuditRecord, done: Result<T, Status>) -> Result<T, Status> {
        if let Err(status) = &done {
            note(&self.store, record, outcome_of(status)).await;
        }
        done
    }
}

/// A comment that can be stored and shown.
fn comment(comment: String) -> Result<String, Status> {
    if comment.len() > COMMENT_BYTES || comment.contains(char::is_control) {
        return Err(Status::invalid_argument(format!(
            "a comment has at most {COMMENT_BYTES} bytes and no control characters"
        )));
    }
    Ok(comment)
}

/// The effects that wait are no longer those that the caller has seen.
fn changed(message: String) -> Status {
    declined(Code::Aborted, "changed", message)
}

/// The first tasks, and the number of the others.
fn named<'a>(mut tasks: impl ExactSizeIterator<Item = &'a TaskName>) -> String {
    if tasks.len() == 0 {
        return "no task".to_owned();
    }
    let more = tasks.len().saturating_sub(NAMED);
    let first: Vec<&str> = tasks.by_ref().take(NAMED).map(TaskName::as_str).collect();
    match more {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_first_tasks() {
        let tasks: Vec<TaskName> = (0..22)
            .map(|number| format!("t{number}").parse().unwrap())
            .collect();
        assert_eq!(named(tasks[..2].iter()), "t0, t1");
        assert!(named(tasks.iter()).ends_with("t18, t19 and 2 more"));
        assert_eq!(named(tasks[..0].iter()), "no task");
    }

    #[test]
    fn comments_are_bounded() {
        assert_eq!(comment("x".repeat(COMMENT_BYTES)).unwrap().len(), 1024);
        let long = comment("x".repeat(COMMENT_BYTES + 1)).unwrap_err();
        assert_eq!(long.code(), Code::InvalidArgument);
        for steers in ["a\0", "a\nb", "\u{1b}[2J"] {
            assert!(comment(steers.into()).is_err());
        }
    }
}
