//! Behaviours of the details that workers report about attempts.

use std::time::Duration;

use cts_core::runs::{AttemptOutcome, Plan, RunStatus};
use cts_proto::run::v1::run_output::Value;
use cts_proto::run::v1::{
    Diagnostic, DiagnosticSeverity, PhaseTimes, ResourceAction, ResourceChange, ResourceCounts,
    RunDetails, RunOutput,
};
use cts_proto::time::duration_to_wire;

use crate::Fixture;
use crate::scene::{Scene, all_runs};
use cts_store::Lease;

/// Details with this text in every field.
pub(crate) fn details(text: &str) -> RunDetails {
    RunDetails {
        resources: Some(ResourceCounts {
            added: 1,
            changed: 2,
            destroyed: 3,
            imported: 4,
        }),
        phases: Some(PhaseTimes {
            render: Some(duration_to_wire(Duration::from_millis(1))),
            apply: Some(duration_to_wire(Duration::from_hours(1))),
            ..PhaseTimes::default()
        }),
        changes: vec![ResourceChange {
            address: text.to_owned(),
            action: ResourceAction::Replace.into(),
        }],
        more_changes: 5,
        diagnostics: vec![Diagnostic {
            severity: DiagnosticSeverity::Warning.into(),
            summary: text.to_owned(),
            detail: text.to_owned(),
            address: text.to_owned(),
            file: text.to_owned(),
            line: 6,
            snippet: text.to_owned(),
        }],
        more_diagnostics: 7,
        outputs: vec![RunOutput {
            name: "address".to_owned(),
            value: Some(Value::Json(r#"{"port":[80,null]}"#.to_owned())),
        }],
        remote_url: text.replace(char::is_control, " "),
        error_code: "terraform-failed".to_owned(),
        worker_version: "0.1.0".to_owned(),
    }
}

async fn end<F: Fixture>(
    scene: &Scene<F>,
    lease: &Lease,
    outcome: AttemptOutcome,
    details: Option<RunDetails>,
) -> RunStatus {
    let mut completion = scene.completion(lease, outcome);
    completion.details = details;
    scene.complete(completion).await.status
}

pub async fn details_come_back_however_an_attempt_ended<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let said = || Some(details("before\0after \u{1F600} \"'`;\\ \u{2028}"));
    let failed = || AttemptOutcome::Failed("no".to_owned());

    let lease = scene.leased("a", "1").await;
    let status = end(&scene, &lease, AttemptOutcome::Applied, said()).await;
    assert_eq!(status, RunStatus::Succeeded);
    assert_eq!(scene.run(lease.run).await.details, said());

    let mut lease = scene.leased("a", "2").await;
    for expected in [RunStatus::Queued, RunStatus::Queued, RunStatus::Failed] {
        assert_eq!(end(&scene, &lease, failed(), said()).await, expected);
        let run = scene.run(lease.run).await;
        assert_eq!((run.status, run.details), (expected, said()));
        if expected == RunStatus::Queued {
            scene.advance(Duration::from_secs(3));
            lease = scene.lease().await;
        }
    }

    let run = scene.queue_plan("a", "3").await;
    let lease = scene.lease().await;
    let plan = AttemptOutcome::Planned(Plan::new(true, "Plan".to_owned()));
    let status = end(&scene, &lease, plan, said()).await;
    assert_eq!(status, RunStatus::Succeeded);
    assert_eq!(scene.run(run).await.details, said());
}

pub async fn events_have_the_resources_of_their_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let resources = details("x").resources;
    assert!(resources.is_some());
    let lease = scene.leased("a", "1").await;
    let applied = AttemptOutcome::Applied;
    end(&scene, &lease, applied.clone(), Some(details("x"))).await;
    let lease = scene.leased("a", "2").await;
    end(&scene, &lease, applied, None).await;
    let mut lease = scene.leased("a", "3").await;
    for attempt in 1..=3 {
        let failed = AttemptOutcome::Failed("no".to_owned());
        end(&scene, &lease, failed, Some(details("x"))).await;
        scene.advance(scene.next_due().await.unwrap_or_default());
        if attempt < 3 {
            lease = scene.lease().await;
        }
    }
    let events = scene.state("a").await.events;
    let seen: Vec<_> = events.iter().map(|event| event.resources).collect();
    assert_eq!(seen, [resources, None, resources]);
    let urls: Vec<_> = events
        .iter()
        .map(|event| event.remote_url.as_deref())
        .collect();
    assert_eq!(urls, [Some("x"), None, Some("x")]);
    let states = scene.states(None).await;
    assert_eq!(states[0].events, events);
}

pub async fn the_created_run_of_a_task_has_details<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let run = scene.draft("made", cts_core::runs::RunKind::Apply).await;
    let lease = scene.lease_requested(run, "1").await;
    let status = end(&scene, &lease, AttemptOutcome::Applied, Some(details("x"))).await;
    assert_eq!(status, RunStatus::Succeeded);
    assert_eq!(scene.run(lease.run).await.details, Some(details("x")));
}

pub async fn details_are_those_of_the_last_attempt<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    assert_eq!(scene.run(lease.run).await.details, None);
    let failed = AttemptOutcome::Failed("no".to_owned());
    end(&scene, &lease, failed, Some(details("first"))).await;
    scene.advance(Duration::from_secs(3));
    // An older worker says nothing.
    let lease = scene.lease().await;
    end(&scene, &lease, AttemptOutcome::Applied, None).await;
    assert_eq!(scene.run(lease.run).await.details, None);
}

pub async fn lists_have_the_summaries_of_details<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let without = scene.apply("a", "1").await;
    let lease = scene.leased("a", "2").await;
    end(&scene, &lease, AttemptOutcome::Applied, Some(details("x"))).await;
    let listed = scene.listed(&all_runs()).await;
    let listed: Vec<_> = listed
        .into_iter()
        .map(|run| (run.id, run.details))
        .collect();
    let summary = RunDetails {
        resources: details("x").resources,
        phases: details("x").phases,
        remote_url: "x".to_owned(),
        error_code: "terraform-failed".to_owned(),
        worker_version: "0.1.0".to_owned(),
        ..RunDetails::default()
    };
    assert_eq!(listed, [(lease.run, Some(summary)), (without, None)]);
}
