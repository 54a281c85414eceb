//! States that a run finds: whether they are the task's, and how they change.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cts_core::Backend;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::run::v1::record_state_request::Report;
use cts_proto::run::v1::{KnownState, RunKind, StateKeep, TerraformState};
use cts_terraform::RenderSettings;
use cts_testkit::assert_contains;
use cts_worker::Options;
use serde_json::{Value, json};

use crate::stage::{KEEPS, Stage};

pub(crate) const OLD: &str = "old/edge/terraform.tfstate";
pub(crate) const NEW: &str = "new/edge/terraform.tfstate";

fn local(directory: &str) -> Backend {
    Backend {
        kind: "local".into(),
        arguments: json!({ "workspace_dir": directory })
            .as_object()
            .unwrap()
            .clone(),
    }
}

fn with_backend(options: &mut Options, backend: Backend) {
    let settings = RenderSettings::clone(&options.render);
    options.render = Arc::new(RenderSettings {
        backend,
        ..settings
    });
}

/// A worker with states in `new`, for a task whose state is in `old` of its directory.
async fn stage(configure: impl FnOnce(&mut Options)) -> Stage {
    let stage = Stage::configured(KEEPS, |options| {
        with_backend(options, local("new"));
        configure(options);
    })
    .await;
    write(&stage.file(OLD), &state("ours", 7, 1));
    stage
        .strings
        .conduct(|conduct| conduct.known = Some(known("ours", 7)));
    stage
}

/// Like [`stage`], where the configuration names the previous backend.
pub(crate) async fn with_previous() -> Stage {
    stage(|options| options.previous_backend = Some(local("old"))).await
}

fn known(lineage: &str, serial: u64) -> KnownState {
    KnownState {
        lineage: lineage.into(),
        serial,
        ..KnownState::default()
    }
}

pub(crate) fn state(lineage: &str, serial: u64, resources: usize) -> Value {
    let resource = json!({
        "mode": "managed", "type": "terraform_data", "name": "kept",
        "provider": "provider[\"terraform.io/builtin/terraform\"]",
        "instances": [{ "schema_version": 0, "attributes": { "id": "x", "input": null, "output": null, "triggers_replace": null } }],
    });
    let resources = vec![resource; resources];
    json!({
        "version": 4, "terraform_version": "1.0.0", "serial": serial, "lineage": lineage, "outputs": {},
        "resources": resources,
    })
}

pub(crate) fn write(path: &PathBuf, state: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, state.to_string()).unwrap();
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

async fn run(stage: &mut Stage, kind: RunKind) -> Outcome {
    stage.strings.grant(kind, stage.input());
    stage.strings.outcome().await
}

async fn refused(stage: &mut Stage, kind: RunKind) -> String {
    let outcome = run(stage, kind).await;
    let error = match &outcome {
        Outcome::Failed(failed) => Some(failed.error.clone()),
        _ => None,
    };
    assert!(error.is_some(), "{outcome:?}\n{}", stage.strings.log());
    error.unwrap()
}

pub(crate) fn recorded(stage: &Stage) -> Vec<Report> {
    stage.strings.conduct(|conduct| conduct.recorded.clone())
}

fn reported(stage: &Stage) -> Option<TerraformState> {
    stage.strings.conduct(|conduct| conduct.state.clone())
}

#[tokio::test]
async fn a_state_is_moved_and_recorded_before_it_is_applied_to() {
    let mut stage = with_previous().await;
    let before = fs::read(stage.file(OLD)).unwrap();
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    let log = stage.strings.log();
    assert_contains(
        &log,
        ["cts: the state ours with serial 7 was moved from backend \"local\""],
    );
    let [Report::Moved(moved)] = &recorded(&stage)[..] else {
        panic!("{:?}", recorded(&stage));
    };
    assert_eq!((&*moved.lineage, moved.serial), ("ours", 7));
    let after = reported(&stage).unwrap();
    assert_eq!(after.lineage, "ours");
    assert!(after.serial > 7);
    assert_eq!(read(&stage.file(NEW))["serial"], after.serial);
    assert_eq!(fs::read(stage.file(OLD)).unwrap(), before);

    // The directory is verified now: the state in the old backend does not matter any more.
    fs::remove_file(stage.file(OLD)).unwrap();
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    assert_eq!(recorded(&stage).len(), 1);
}

#[tokio::test]
async fn a_state_that_is_not_found_is_never_begun_anew() {
    let mut stage = stage(|_options| {}).await;
    for kind in [
        RunKind::Apply,
        RunKind::Plan,
        RunKind::Destroy,
        RunKind::DestroyPlan,
    ] {
        let error = refused(&mut stage, kind).await;
        assert!(error.contains("previous_backend \"KIND\""), "{error}");
        let gives_up = error.contains("cts task delete -retain edge");
        assert_eq!(gives_up, kind == RunKind::Destroy, "{error}");
        assert!(!stage.file(NEW).exists());
    }
    let recorded = recorded(&stage);
    assert_eq!(recorded.len(), 2, "plans record nothing: {recorded:?}");
    for report in recorded {
        let Report::Conflict(conflict) = report else {
            panic!("{report:?}");
        };
        assert!(conflict.old.is_none());
        let new = conflict.new.unwrap();
        assert_eq!(
            (&*new.backend, &*new.workspace, new.state),
            ("local", "edge", None)
        );
    }
    // A check does not read the state.
    let outcome = run(&mut stage, RunKind::Check).await;
    assert!(matches!(outcome, Outcome::Checked(_)), "{outcome:?}");
}

#[tokio::test]
async fn plans_come_after_the_move() {
    let mut stage = with_previous().await;
    let error = refused(&mut stage, RunKind::Plan).await;
    assert!(error.contains("the next apply moves it"), "{error}");
    assert!(recorded(&stage).is_empty() && !stage.file(NEW).exists());
    run(&mut stage, RunKind::Apply).await;
    let outcome = run(&mut stage, RunKind::Plan).await;
    assert!(matches!(outcome, Outcome::Planned(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_move_that_died_after_any_of_its_steps_is_finished() {
    // After the record.
    let mut stage = with_previous().await;
    stage.strings.conduct(|conduct| {
        conduct.known = Some(KnownState {
            moves: 1,
            moved_serial: Some(7),
            ..known("ours", 7)
        });
    });
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    assert_eq!(read(&stage.file(NEW))["lineage"], "ours");

    // In the push: Terraform makes the workspace before it writes.
    let mut stage = with_previous().await;
    write(&stage.file(NEW), &state("made", 1, 0));
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    assert_eq!(read(&stage.file(NEW))["lineage"], "ours");

    // After the push, or in the apply.
    for serial in [7, 9] {
        let mut stage = with_previous().await;
        write(&stage.file(NEW), &state("ours", serial, 1));
        let outcome = run(&mut stage, RunKind::Apply).await;
        assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
        assert!(recorded(&stage).is_empty());
        assert!(reported(&stage).unwrap().serial >= serial);
    }
}

#[tokio::test]
async fn the_state_of_something_else_is_kept_until_somebody_decides() {
    for (keep, lineage) in [(StateKeep::Old, "ours"), (StateKeep::New, "theirs")] {
        let mut stage = with_previous().await;
        let theirs = state("theirs", 3, 1);
        write(&stage.file(NEW), &theirs);
        let error = refused(&mut stage, RunKind::Apply).await;
        assert_contains(&error, ["the new backend has the state of something else"]);
        assert!(
            error.contains("lineage ours, serial 7") && error.contains("lineage theirs, serial 3"),
            "{error}"
        );
        assert_contains(
            &error,
            ["`cts task state edge`", "`-keep=old` or `-keep=new`"],
        );
        assert_eq!(read(&stage.file(NEW)), theirs);
        assert_eq!(read(&stage.file(OLD)), state("ours", 7, 1));

        stage.strings.conduct(|conduct| {
            conduct.recorded.clear();
            conduct.known.as_mut().unwrap().keep = keep.into();
        });
        let outcome = run(&mut stage, RunKind::Apply).await;
        assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
        assert_eq!(read(&stage.file(NEW))["lineage"], lineage);
        assert_eq!(reported(&stage).unwrap().lineage, lineage);
        assert_eq!(recorded(&stage).len(), 1);
    }
}

#[tokio::test]
async fn a_scheduler_without_records_moves_nothing_and_stops_nothing_else() {
    let mut stage = with_previous().await;
    stage.strings.conduct(|conduct| conduct.known = None);
    let error = refused(&mut stage, RunKind::Apply).await;
    assert_contains(&error, ["cannot be recorded"]);
    assert!(!stage.file(NEW).exists());
    write(&stage.file(NEW), &state("any", 3, 1));
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
}

#[tokio::test]
async fn the_state_of_an_earlier_task_is_taken_over_if_there_is_none() {
    let mut stage = stage(|_options| {}).await;
    let from = |moves| KnownState {
        from: "before".into(),
        moves,
        ..KnownState::default()
    };
    stage
        .strings
        .conduct(|conduct| conduct.known = Some(from(0)));
    let error = refused(&mut stage, RunKind::Apply).await;
    assert!(error.contains("the old backend has none either"), "{error}");

    let earlier = stage.file("new/before/terraform.tfstate");
    write(&earlier, &state("ours", 7, 1));
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    assert_eq!(read(&stage.file(NEW))["lineage"], "ours");
    assert_eq!(read(&earlier)["serial"], 7);

    write(&earlier, &state("more", 2, 1));
    stage
        .strings
        .conduct(|conduct| conduct.known = Some(from(2)));
    let error = refused(&mut stage, RunKind::Apply).await;
    assert!(error.contains("the task has a state already"), "{error}");
}

#[tokio::test]
async fn an_apply_does_not_begin_with_a_state_that_was_lost() {
    let mut stage = stage(|_options| {}).await;
    write(&stage.file(NEW), &state("ours", 8, 1));
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
    let before = read(&stage.file(NEW));

    // Terraform was killed while it wrote the file, in this directory, which was verified.
    fs::write(stage.file(NEW), "").unwrap();
    let error = refused(&mut stage, RunKind::Apply).await;
    assert!(error.contains("the task's state is not there"), "{error}");
    assert_eq!(fs::read_to_string(stage.file(NEW)).unwrap(), "");
    fs::remove_file(stage.file(NEW)).unwrap();
    let error = refused(&mut stage, RunKind::Apply).await;
    assert!(error.contains("the task's state is not there"), "{error}");
    assert!(!stage.file(NEW).exists());

    write(&stage.file(NEW), &before);
    let outcome = run(&mut stage, RunKind::Apply).await;
    assert!(matches!(outcome, Outcome::Applied(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_destruction_is_judged_by_the_state() {
    // The resources were destroyed by somebody else, or by an attempt that died before its report.
    let mut stage = stage(|_options| {}).await;
    write(&stage.file(NEW), &state("ours", 8, 0));
    let outcome = run(&mut stage, RunKind::Destroy).await;
    assert!(matches!(outcome, Outcome::Destroyed(_)), "{outcome:?}");

    // The state is lost, although this directory was verified.
    fs::remove_file(stage.file(NEW)).unwrap();
    let error = refused(&mut stage, RunKind::Destroy).await;
    assert_contains(
        &error,
        [
            "there is no state in backend \"local\", workspace edge",
            "cts task delete -retain edge",
        ],
    );
    write(&stage.file(NEW), &state("theirs", 3, 0));
    let error = refused(&mut stage, RunKind::Destroy).await;
    assert_contains(
        &error,
        ["the state of something else is in backend \"local\""],
    );
}
