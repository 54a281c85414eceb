//! Permission for plans of runs that find the state of something else, or one to be moved.

use std::fs;

use cts_proto::run::v1::record_state_request::Report;
use cts_proto::run::v1::{PermitDecision, RunKind};

use crate::plan_data::{keeps_plans, plan_of};
use crate::stage::Stage;
use crate::states::{NEW, OLD, recorded, state, with_previous, write};

/// A worker whose scheduler lets every plan wait, for a task with a state to be moved.
async fn stage() -> Stage {
    let stage = with_previous().await;
    stage.strings.conduct(|conduct| {
        keeps_plans(conduct);
        conduct.permit = PermitDecision::Waits;
    });
    stage
}

fn grant(stage: &Stage, attempt: u32) {
    let input = stage.input();
    stage.strings.grant_asking(RunKind::Apply, input, attempt);
}

#[tokio::test]
async fn a_state_is_moved_before_its_plan_waits() {
    let mut stage = stage().await;
    grant(&stage, 1);
    stage.strings.interrupted().await;
    let [Report::Moved(moved)] = &recorded(&stage)[..] else {
        panic!("{:?}", recorded(&stage));
    };
    assert_eq!((&*moved.lineage, moved.serial), ("ours", 7));
    // The move is no part of the effect, and is not repeated.
    let before = fs::read(stage.file(NEW)).unwrap();
    fs::remove_file(stage.file(OLD)).unwrap();
    grant(&stage, 2);
    stage.strings.interrupted().await;
    assert_eq!(fs::read(stage.file(NEW)).unwrap(), before);
    stage
        .strings
        .conduct(|conduct| conduct.permit = PermitDecision::Permitted);
    grant(&stage, 3);
    stage.strings.applied().await;
    assert_eq!(recorded(&stage).len(), 1);
    let permits = stage.strings.conduct(|conduct| conduct.permits.clone());
    let effects: Vec<String> = permits
        .iter()
        .map(|it| plan_of(&it.content).effect)
        .collect();
    assert_eq!((effects.len(), effects[0].len()), (3, 32));
    assert!(effects.iter().all(|it| *it == effects[0]), "{effects:?}");
}

#[tokio::test]
async fn the_state_of_something_else_is_refused_before_consent() {
    let mut stage = stage().await;
    write(&stage.file(NEW), &state("theirs", 3, 1));
    grant(&stage, 1);
    let error = stage.strings.failed().await;
    assert!(error.contains("the state of something else"), "{error}");
    assert!(matches!(&recorded(&stage)[..], [Report::Conflict(_)]));
    assert!(stage.strings.conduct(|conduct| conduct.permits.is_empty()));
}
