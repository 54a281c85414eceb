//! The journal of the worker's runs, and its report on a new timeline of the scheduler's database.

use std::fs;

use cts_proto::run::v1::RunKind;
use cts_proto::worker::v1::{JournalEntry, WorkerJournal};
use tonic::Code;

use crate::played_scheduler::DATABASE_SECONDS;
use crate::stage::{KEEPS, Stage};

/// The only part of a journal for a timeline, with the scheduler on it.
async fn reported(stage: &Stage, timeline: &str) -> WorkerJournal {
    stage
        .strings
        .conduct(|conduct| timeline.clone_into(&mut conduct.timeline));
    let is_whole = |part: &WorkerJournal| part.timeline == timeline && part.last;
    stage
        .strings
        .until(|conduct| conduct.journal.iter().any(is_whole))
        .await;
    let parts = stage.strings.conduct(|conduct| conduct.journal.clone());
    let mut parts: Vec<_> = parts
        .into_iter()
        .filter(|part| part.timeline == timeline)
        .collect();
    assert_eq!(parts.len(), 1, "{parts:?}");
    parts.remove(0)
}

fn outcomes(journal: &WorkerJournal) -> Vec<&str> {
    let entry = |entry: &JournalEntry| entry.task_name == "edge" && entry.epoch > 0;
    assert!(journal.entries.iter().all(entry), "{journal:?}");
    let outcomes = journal.entries.iter().map(|entry| &*entry.outcome);
    outcomes.collect()
}

#[tokio::test]
async fn an_apply_is_in_the_journal_and_a_plan_is_not() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Plan, stage.input());
    stage.strings.outcome().await;
    assert_eq!(outcomes(&reported(&stage, "2").await), Vec::<&str>::new());
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.outcome().await;
    let journal = reported(&stage, "3").await;
    assert_eq!(journal.lives, ["worker-1"]);
    assert_eq!(journal.entries.len(), 1);
    let began_at = journal.entries[0].began_at.unwrap();
    let since = began_at.seconds - DATABASE_SECONDS;
    assert!((0..60).contains(&since), "{began_at:?}");
}

#[tokio::test]
async fn an_attempt_is_in_the_journal_before_terraform_is_started() {
    let mut stage = Stage::new(KEEPS).await;
    stage
        .strings
        .conduct(|conduct| conduct.reports = Some(Code::Unavailable));
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.until(|conduct| conduct.refused > 0).await;
    // The end of the run is not confirmed.
    assert_eq!(outcomes(&reported(&stage, "2").await), [""]);
    stage.strings.conduct(|conduct| conduct.reports = None);
    stage.strings.outcome().await;
    stage
        .strings
        .until(|_conduct| {
            let lines = fs::read_to_string(stage.root().join("runs.journal")).unwrap();
            lines.lines().any(|line| line.ends_with(" applied"))
        })
        .await;
    assert_eq!(outcomes(&reported(&stage, "3").await), ["applied"]);
}

#[tokio::test]
async fn a_worker_that_keeps_no_journal_reports_none() {
    let mut stage = Stage::configured(KEEPS, |options| options.keeps_journal = false).await;
    stage
        .strings
        .conduct(|conduct| conduct.timeline = "2".to_owned());
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.outcome().await;
    assert!(stage.strings.conduct(|conduct| conduct.journal.is_empty()));
    assert!(!stage.root().join("runs.journal").exists());
}

/// Waits for this many heartbeats with attempts, with this start of a leader; returns the last.
async fn compared(stage: &Stage, leader_start: &str, heartbeats: usize) -> Vec<JournalEntry> {
    stage
        .strings
        .conduct(|conduct| leader_start.clone_into(&mut conduct.leader_start));
    stage
        .strings
        .until(|conduct| conduct.attempts.len() >= heartbeats)
        .await;
    let attempts = stage.strings.conduct(|conduct| conduct.attempts.clone());
    assert_eq!(attempts.len(), heartbeats, "{attempts:?}");
    attempts.last().unwrap().clone()
}

#[tokio::test]
async fn each_leader_that_begins_gets_the_last_attempts_once() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.outcome().await;
    let first = compared(&stage, "1/a", 1).await;
    assert_eq!(first.len(), 1);
    assert_eq!((&*first[0].task_name, first[0].epoch), ("edge", 1));
    // The answer of the next leader is lost, so it gets the same once more.
    stage
        .strings
        .conduct(|conduct| conduct.refuses_attempts = Some(Code::Unavailable));
    let second = compared(&stage, "2/b", 3).await;
    assert_eq!(second[0].run_id, first[0].run_id);
    // Nothing is reported for a timeline, and nothing to a scheduler that names no leader.
    assert_eq!(compared(&stage, "", 3).await, second);
    assert!(stage.strings.conduct(|conduct| conduct.journal.is_empty()));
}
