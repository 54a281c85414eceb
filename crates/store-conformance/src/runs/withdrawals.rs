//! Behaviours of withdrawing queued runs when a file changes the declaration of a task, as a change over the
//! API does.

use std::time::Duration;

use cts_core::runs::{ATTEMPTS, RunKind, RunStatus};
use cts_core::{Digest, TaskSpec};

use crate::Fixture;
use crate::configurations::configuration;
use crate::scene::{LEASE, Scene, disabled, member, other, seconds, spec, task, withdrawn};
use cts_store::configured::RECONFIGURED;

const HOUR: Duration = Duration::from_hours(1);

fn edited(name: &str) -> TaskSpec {
    let mut edited = spec(name);
    edited.definition.module_digest = Some(Digest::of(b"edited"));
    edited
}

/// Its input has failed for good, and is to be tried again in a minute.
pub(crate) async fn exhaust<F: Fixture>(scene: &Scene<F>, name: &str) {
    scene.queue(name, "1").await;
    for _ in 0..ATTEMPTS {
        let lease = scene.lease().await;
        assert_eq!(lease.task, task(name));
        scene.failed(&lease, "no").await;
        scene.advance(seconds(4));
    }
}

/// Tasks whose inputs have failed for good, and what the file declares next.
async fn redeclared<F: Fixture>() -> (Scene<F>, [TaskSpec; 4]) {
    let names = ["changed", "disabled", "edited", "gone", "same"];
    let scene = Scene::<F>::new(&names).await;
    for name in names {
        exhaust(&scene, name).await;
    }
    let specs = [
        other("changed"),
        disabled("disabled"),
        edited("edited"),
        spec("same"),
    ];
    (scene, specs)
}

pub async fn a_file_withdraws_what_is_queued_of_what_it_declares_otherwise<F: Fixture>() {
    let (scene, specs) = redeclared::<F>().await;
    scene.configure(&specs).await;
    scene.advance(HOUR);
    let lease = scene.lease().await;
    assert_eq!(lease.task, task("same"));
    scene.applied(&lease).await;
    assert_eq!(scene.acquire().await, None);
    // The failed run had another definition: the first failure of the new one waits no longer than any first
    // failure.
    exhaust(&scene, "changed").await;
    assert!(scene.next_due().await.is_some_and(|due| due < seconds(60)));
}

pub async fn run_is_not_tried_again_after_a_file_changes_its_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut declared = spec("a");
    let mut turn = async || {
        declared.definition.description.push('!');
        scene.configure(std::slice::from_ref(&declared)).await;
    };
    let lease = scene.leased("a", "1").await;
    turn().await;
    let failed = scene.failed(&lease, "no").await;
    assert_eq!((failed.status, failed.next_due), (RunStatus::Failed, None));
    let lease = scene.leased("a", "2").await;
    turn().await;
    let interrupted = scene.interrupted(&lease).await;
    assert_eq!(interrupted.status, RunStatus::Cancelled);
    let lease = scene.leased("a", "3").await;
    turn().await;
    scene.advance(LEASE);
    scene.reap().await;
    assert_eq!(scene.run(lease.run).await.status, RunStatus::Cancelled);
    let lease = scene.leased("a", "4").await;
    turn().await;
    let released = scene.release_all().await;
    assert_eq!(released[0].status, RunStatus::Cancelled);
    assert_eq!(scene.run(lease.run).await.status, RunStatus::Cancelled);
    // A withdrawn run that succeeds all the same counts as applied.
    let lease = scene.leased("a", "5").await;
    turn().await;
    scene.applied(&lease).await;
    assert_eq!(scene.next_due().await, None);
}

pub async fn a_file_refuses_what_was_asked_of_the_declaration_before<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let apply = scene.ask("a", RunKind::Apply).await;
    let check = scene.ask("a", RunKind::Check).await;
    scene.configure(&[other("a")]).await;
    let refused = scene.find_request(apply).await.and_then(|it| it.refused);
    assert_eq!(refused, Some(withdrawn(RECONFIGURED)));
    assert_eq!(scene.open_requests().await, [check]);
}

pub async fn failed_tasks_are_made_due_once_their_declaration_has_taken_effect<F: Fixture>() {
    let (scene, specs) = redeclared::<F>().await;
    let adopted = scene
        .store()
        .adopt_configuration(
            scene.leader(),
            &member("leader"),
            &configuration(&specs),
            true,
        )
        .await;
    adopted.expect("the leader can adopt");
    // A replica may start before the leader has brought in the configuration in force.
    assert_eq!(scene.retry_failed_now().await, ["same"]);
    let lease = scene.lease().await;
    assert_eq!(lease.task, task("same"));
    scene.applied(&lease).await;
    assert_eq!(scene.acquire().await, None);
    scene.configure(&specs).await;
    assert_eq!(scene.retry_failed_now().await, [""; 0]);
    exhaust(&scene, "changed").await;
    assert_eq!(scene.retry_failed_now().await, ["changed"]);
}
