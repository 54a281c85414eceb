//! A worker registers before it requests runs, and proves its id.

use std::fs;

use cts_core::{Digest, EngineKind};
use cts_proto::run::v1::RunKind;
use tonic::Code;

use crate::stage::{KEEPS, Stage, terraform_path};

/// The registration of the stage's worker.
const REGISTRATION: [u8; 32] = [7; 32];

#[tokio::test]
async fn every_heartbeat_has_the_registration_and_every_call_for_a_run_its_secret() {
    let secret = vec![3; 32];
    let mut stage = Stage::with_conduct(KEEPS, |conduct| {
        conduct.registration_secret = vec![3; 32];
        conduct.timeline = "another".into();
        conduct.leader_start = "a start".into();
    })
    .await;
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.checked().await;
    stage.shutdown.drain.cancel();
    // The report that the worker drains, and the end of the registration.
    let before = stage.strings.conduct(|conduct| conduct.registrations.len());
    stage
        .strings
        .until(|conduct| conduct.registrations.len() > before)
        .await;
    stage.strings.conduct(|conduct| {
        assert!(conduct.registrations.iter().all(|it| it == &REGISTRATION));
        assert!(!conduct.journal.is_empty());
        assert!(conduct.acquired_with.iter().all(|it| *it == secret));
    });
}

#[tokio::test]
async fn a_scheduler_of_the_version_before_gets_no_secret() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.checked().await;
    stage.strings.conduct(|conduct| {
        assert!(!conduct.acquired_with.is_empty());
        assert!(conduct.acquired_with.iter().all(Vec::is_empty));
    });
}

#[tokio::test]
async fn a_worker_whose_heartbeats_are_refused_asks_again_and_takes_no_runs() {
    let mut stage = Stage::with_conduct(KEEPS, |conduct| {
        conduct.refuses_heartbeats = Some(Code::PermissionDenied);
    })
    .await;
    stage.strings.grant(RunKind::Check, stage.input());
    stage
        .strings
        .until(|conduct| conduct.refused_heartbeats >= 3)
        .await;
    stage.strings.conduct(|conduct| {
        assert!(conduct.acquired_with.is_empty());
        conduct.refuses_heartbeats = None;
    });
    stage.strings.checked().await;
}

#[tokio::test]
async fn heartbeats_name_earlier_lives_until_the_first_answer() {
    let engine = (EngineKind::Terraform, terraform_path());
    let write_journal = |options: &mut cts_worker::Options| {
        let line = "life worker-0";
        let checksum = Digest::of(line.as_bytes()).to_string();
        let journal = format!("{} {line}\n", &checksum[..16]);
        fs::write(options.working_dir.join("runs.journal"), journal).unwrap();
    };
    let refuse = |conduct: &mut crate::played_scheduler::Conduct| {
        conduct.refuses_heartbeats = Some(Code::Unavailable);
    };
    let stage = Stage::played(engine, KEEPS, write_journal, refuse).await;
    stage
        .strings
        .until(|conduct| conduct.refused_heartbeats >= 2)
        .await;
    stage
        .strings
        .conduct(|conduct| conduct.refuses_heartbeats = None);
    stage
        .strings
        .until(|conduct| conduct.registrations.len() >= 3)
        .await;
    stage.strings.conduct(|conduct| {
        let (refused, later) = conduct
            .earlier_lives
            .split_at(conduct.refused_heartbeats as usize);
        let (answered, later) = later.split_first().unwrap();
        assert!(refused.iter().all(|lives| lives == answered), "{refused:?}");
        assert_eq!(answered, &["worker-0"]);
        assert!(later.iter().all(Vec::is_empty), "{later:?}");
    });
}

#[tokio::test]
async fn a_refused_input_counts_once_the_lease_is_renewed() {
    let mut stage = Stage::new(KEEPS).await;
    let calls = |stage: &Stage| {
        let calls = |conduct: &mut crate::played_scheduler::Conduct| {
            (conduct.asked_for_inputs, conduct.renewed)
        };
        stage.strings.conduct(calls)
    };
    stage.strings.conduct(|conduct| conduct.expired_inputs = 1);
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.checked().await;
    assert_eq!(calls(&stage), (2, 1));

    // A second refusal counts.
    stage.strings.conduct(|conduct| conduct.expired_inputs = 2);
    stage.strings.grant(RunKind::Check, stage.input());
    let error = stage.strings.failed().await;
    assert!(error.contains("did not send the input"), "{error}");
    assert_eq!(calls(&stage), (4, 2));
}

#[tokio::test]
async fn a_lease_that_is_not_renewed_opens_no_input() {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.conduct(|conduct| {
        conduct.expired_inputs = 1;
        conduct.renewals = Some(Code::FailedPrecondition);
    });
    stage.strings.grant(RunKind::Check, stage.input());
    stage.strings.failed().await;
    let asked = stage.strings.conduct(|conduct| conduct.asked_for_inputs);
    assert_eq!(asked, 1);
}
