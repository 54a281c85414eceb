//! Calls for a run prove the lease that the worker holds.

use std::collections::BTreeSet;

use cts_core::Digest;
use cts_proto::run::v1::{InputContent, KnownState, LeaseProof, RunKind};

use crate::stage::{KEEPS, Stage};

const RUN: &str = "00000000-0000-7000-8000-000000000001";

/// Applies once, and returns the proofs of all calls.
async fn proofs(secret: Vec<u8>) -> (BTreeSet<&'static str>, Vec<Option<LeaseProof>>) {
    let mut stage = Stage::new(KEEPS).await;
    stage.strings.conduct(|conduct| {
        conduct.secret = secret;
        conduct.known = Some(KnownState::default());
    });
    stage.strings.grant(RunKind::Apply, stage.input());
    stage.strings.applied().await;
    let missing = InputContent {
        hash: Digest::of(b"missing").to_string(),
        content: None,
    };
    stage.strings.grant_contents(RunKind::Check, vec![missing]);
    stage.strings.failed().await;
    let calls = stage
        .strings
        .conduct(|conduct| std::mem::take(&mut conduct.proofs));
    let names = calls.iter().map(|(name, _)| *name).collect();
    (names, calls.into_iter().map(|(_, proof)| proof).collect())
}

#[tokio::test]
async fn every_call_for_a_run_proves_its_lease() {
    let secret = vec![7; 32];
    let (calls, proofs) = proofs(secret.clone()).await;
    for call in [
        "append_log",
        "complete_run",
        "get_input_contents",
        "get_run_input",
    ] {
        assert!(calls.contains(call), "{call}: {calls:?}");
    }
    for proof in proofs {
        let proof = proof.unwrap();
        assert_eq!((proof.run_id.as_str(), proof.epoch), (RUN, 1));
        assert_eq!(proof.secret, secret);
        assert!(!proof.worker_id.is_empty());
    }
}

#[tokio::test]
async fn nothing_is_proved_to_a_scheduler_of_the_version_before() {
    let (calls, proofs) = proofs(Vec::new()).await;
    assert!(calls.contains("complete_run"));
    assert!(proofs.iter().all(Option::is_none), "{proofs:?}");
}
