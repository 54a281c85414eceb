//! The attempts of a run: each is recorded at its end; the newest may follow from the columns of the run.

use std::time::Duration;

use chrono::{DateTime, Utc};
use cts_core::runs::{AfterAttempt, AttemptEnding, AttemptOutcome, RunPhase, RunStatus};
use cts_core::{LeaseEpoch, WorkerId};

use super::attempt_record::{AttemptRecord, newest_attempts};
use super::leased_attempt::Attempt;
use crate::details::Summary;
use crate::error::StoreError;
use crate::fields::{Columns, Fields};
use crate::model::Completion;

impl Attempt {
    /// The ending of an attempt whose worker reported its end.
    pub(super) fn ending(&self, outcome: &AttemptOutcome, after: AfterAttempt) -> AttemptEnding {
        match outcome {
            AttemptOutcome::Interrupted if self.cancelled => AttemptEnding::Cancelled,
            AttemptOutcome::Interrupted if after == AfterAttempt::Cancel => AttemptEnding::Replaced,
            AttemptOutcome::Interrupted => AttemptEnding::Released,
            AttemptOutcome::Declined(_) => AttemptEnding::Cancelled,
            outcome if outcome.error(self.kind).is_some() => AttemptEnding::Failed,
            _ => AttemptEnding::Succeeded,
        }
    }

    pub(super) fn record(
        &self,
        completion: &Completion,
        (after, ending): (AfterAttempt, AttemptEnding),
        now: DateTime<Utc>,
    ) -> AttemptRecord {
        let details = completion.details.as_ref();
        let version = details.map(|it| it.worker_version.clone());
        let record = AttemptRecord {
            epoch: completion.epoch,
            number: self.attempts,
            worker: completion.holder.clone(),
            due_at: Some(self.due_at),
            leased_at: self.leased_at,
            renewed_at: self.renewed_at,
            ended_at: Some(now),
            ending,
            error: String::new(),
            worker_version: version.unwrap_or_default(),
            early_failure: completion.early_failure,
            phases: details.and_then(|it| it.phases).unwrap_or_default(),
            phase: self
                .run_phase
                .filter(|_| ending == AttemptEnding::LeaseLost),
            retry_after: match after {
                AfterAttempt::Retry(wait) => Some(wait),
                AfterAttempt::Requeue => Some(Duration::ZERO),
                _ => None,
            },
            last_line: Some(self.last_line + completion.log.len() as u64),
        };
        match completion.outcome.error(self.kind) {
            Some(error) => record.with_error(error),
            None => record,
        }
    }
}

/// Returns the recorded attempts of a row of `runs`, oldest first.
///
/// `ended_attempts` lacks the newest attempt while it is running, and if it succeeded in the ordinary way. Its
/// record is then derived from the columns of its lease, as far as they concern the last grant.
pub fn attempts(row: &dyn Columns) -> Result<Vec<AttemptRecord>, StoreError> {
    let row = Fields::new(row, "read the attempts of a run", "runs").keyed_by_id("id")?;
    let mut records: Vec<AttemptRecord> = row.json_if_any("ended_attempts")?.unwrap_or_default();
    let epoch = LeaseEpoch::new(row.number("epoch")?);
    let is_recorded = records.last().is_some_and(|newest| newest.epoch >= epoch);
    if epoch.get() > 0 && !is_recorded {
        records.extend(newest(&row, epoch)?);
    }
    newest_attempts(&mut records);
    Ok(records)
}

fn newest(row: &Fields<'_>, epoch: LeaseEpoch) -> Result<Option<AttemptRecord>, StoreError> {
    let ending = match row.run_status("status")? {
        RunStatus::Running => AttemptEnding::Running,
        RunStatus::Succeeded => AttemptEnding::Succeeded,
        RunStatus::Failed => AttemptEnding::Failed,
        RunStatus::Queued | RunStatus::Cancelled => return Ok(None),
    };
    let is_running = ending == AttemptEnding::Running;
    let is_known = row
        .integer_if_any("leased_epoch")?
        .is_some_and(|leased| u64::try_from(leased).is_ok_and(|leased| leased == epoch.get()));
    let leased_by = row.text_if_any("leased_by")?.filter(|_| is_known);
    let Some(worker) = row.text_if_any("holder")?.or(leased_by) else {
        return Ok(None);
    };
    let run_phase = row.text_if_any("run_phase")?.filter(|_| is_known);
    let run_phase = run_phase.and_then(RunPhase::parse);
    // The summary of a running run is of an earlier attempt.
    let summary: Option<Summary> = row.json_if_any("summary")?;
    let summary = summary.filter(|_| !is_running).unwrap_or_default();
    let record = AttemptRecord {
        epoch,
        number: row.number("attempts")?,
        worker: WorkerId::new(worker),
        due_at: row.time_if_any("due_at")?.filter(|_| is_known),
        leased_at: row.time_if_any("leased_at")?.filter(|_| is_known),
        renewed_at: row.time("updated_at")?,
        ended_at: row.time_if_any("finished_at")?.filter(|_| !is_running),
        ending,
        error: String::new(),
        worker_version: summary.worker_version,
        early_failure: None,
        phases: summary.phases,
        phase: run_phase.filter(|_| is_running),
        retry_after: None,
        last_line: None,
    };
    let errors: Vec<String> = row.json("errors")?;
    let error = errors.last().filter(|_| ending == AttemptEnding::Failed);
    Ok(Some(match error {
        Some(error) => record.with_error(error),
        None => record,
    }))
}
