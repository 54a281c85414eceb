//! Runs that only plan.

use cts_core::TaskStatus;
use cts_core::runs::EnqueueDecision::{Enqueue, Keep, Replace};
use cts_core::runs::{
    AttemptOutcome, EnqueueDecision, PLAN_BYTES, Plan, RunKind, RunKinds, RunStatus,
};

use super::Fixture;
use super::scene::{LEASE, Scene, bytes_of, claim, input, plan, seconds, spec, stored_input};
use cts_store::{Claim, Enqueued, Lease, PLANS_KEPT, Retention};

async fn ask<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> Enqueued {
    let request = scene.plan_request(name, text);
    scene.request_all(vec![request]).await.remove(0)
}

/// Requests a plan and leases it; nothing else may be due.
async fn leased_plan<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> Lease {
    let run = scene.queue_plan(name, text).await;
    let lease = scene.lease().await;
    assert_eq!((lease.run, lease.kind), (run, RunKind::Plan));
    lease
}

fn is_skip(decision: Option<EnqueueDecision>) -> bool {
    matches!(decision, Some(EnqueueDecision::Skip { .. }))
}

pub async fn a_plan_is_queued_and_due_at_once<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let run = scene.queue_plan("a", "1").await;
    assert_eq!(scene.next_due().await, Some(seconds(0)));
    let record = scene.run(run).await;
    assert_eq!(record.kind, RunKind::Plan);
    assert_eq!((record.status, record.attempts), (RunStatus::Queued, 0));
    assert_eq!((record.plan, record.errors), (None, Vec::new()));
    let stored = stored_input(&*scene.store(), record.input).await;
    assert_eq!(stored, Some(bytes_of(&input("1"))));
    let lease = scene.lease().await;
    assert_eq!(
        (lease.run, lease.kind, lease.input, lease.attempt),
        (run, RunKind::Plan, input("1").hash, 1)
    );
}

pub async fn a_plan_that_succeeds_keeps_its_text<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    for changes_present in [true, false] {
        let lease = leased_plan(&scene, "a", "1").await;
        scene.advance(seconds(2));
        let plan = Plan::new(changes_present, "Plan: 1 to add".to_owned());
        let outcome = AttemptOutcome::Planned(plan.clone());
        let completed = scene.complete(scene.completion(&lease, outcome)).await;
        assert_eq!(
            (completed.kind, completed.status, completed.event),
            (RunKind::Plan, RunStatus::Succeeded, None)
        );
        let record = scene.run(lease.run).await;
        assert_eq!(record.status, RunStatus::Succeeded);
        assert_eq!(record.plan, Some(plan));
        assert_eq!(record.error(), None);
        assert_eq!(record.finished_at, Some(record.created_at + seconds(2)));
    }
}

pub async fn plans_come_back_unchanged<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let long = "x\u{1F600}\0\r\n".repeat(PLAN_BYTES / 8);
    for text in ["", "\0", "\u{1b}[1m ' \" \\u0000 \u{FFFD}", &long] {
        let lease = leased_plan(&scene, "a", "1").await;
        scene.planned(&lease, text).await;
        let stored = scene.run(lease.run).await.plan;
        assert!(stored == Some(plan(text)), "it came back changed");
    }
}

/// The last applied input, its status, its events and its failures stay.
pub async fn a_plan_changes_nothing_for_its_task<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "failing"]).await;
    scene.apply("a", "1").await;
    let before = scene.state("a").await;
    for end in 0..3 {
        let lease = leased_plan(&scene, "a", "2").await;
        assert!(is_skip(scene.enqueue("a", "1").await.decision));
        match end {
            0 => scene.planned(&lease, "text").await,
            1 => scene.failed(&lease, "no").await,
            _ => scene.interrupted(&lease).await,
        };
        assert_eq!(scene.state("a").await, before);
        assert!(is_skip(scene.enqueue("a", "1").await.decision));
    }
    scene.planned(&scene.lease().await, "text").await;

    // The retry comes a minute after the first failure, whatever was planned in between, and two minutes
    // after the second.
    let lease = scene.leased("failing", "1").await;
    let first = scene.fail_thrice(lease).await;
    for fails in [true, false] {
        let lease = leased_plan(&scene, "failing", "2").await;
        if fails {
            scene.failed(&lease, "no").await;
        } else {
            scene.planned(&lease, "text").await;
        }
    }
    assert_eq!(scene.next_due().await, first.next_due);
    scene.advance(seconds(60));
    let lease = scene.lease().await;
    assert_eq!(lease.kind, RunKind::Apply);
    let second = scene.fail_thrice(lease).await;
    assert_eq!(second.next_due, Some(seconds(120)));
    assert_eq!(scene.state("failing").await.status, TaskStatus::Critical);
    assert_eq!(scene.state("failing").await.events.len(), 2);
}

pub async fn a_failed_plan_has_failed_for_good<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = leased_plan(&scene, "a", "1").await;
    let completed = scene.failed(&lease, "error tf-plan").await;
    assert_eq!(
        (completed.status, completed.event, completed.next_due),
        (RunStatus::Failed, None, None)
    );
    let record = scene.run(lease.run).await;
    assert_eq!(record.error().as_deref(), Some("error tf-plan"));
    assert_eq!(record.plan, None);
    assert!(record.finished_at.is_some());
    scene.advance(seconds(2 * 3600));
    assert_eq!(scene.acquire().await, None);
    let state = scene.state("a").await;
    assert_eq!((state.status, state.events), (TaskStatus::Unknown, vec![]));
}

pub async fn an_interrupted_plan_is_made_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = leased_plan(&scene, "a", "1").await;
    let completed = scene.interrupted(&lease).await;
    assert_eq!(completed.status, RunStatus::Queued);
    assert_eq!(completed.next_due, Some(seconds(0)));
    let again = scene.lease().await;
    assert_eq!((again.run, again.attempt), (lease.run, 1));
    assert!(again.epoch > lease.epoch);
    scene.planned(&again, "text").await;
    assert_eq!(scene.run(lease.run).await.plan, Some(plan("text")));
}

/// Also where an input waits that is to be applied.
pub async fn a_plan_whose_worker_is_lost_is_made_again<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = leased_plan(&scene, "a", "1").await;
    let queued = scene.queue("a", "2").await;
    scene.advance(LEASE);
    let reaped = scene.reap().await.remove(0);
    assert_eq!(
        (reaped.run, reaped.kind, reaped.status),
        (lease.run, RunKind::Plan, RunStatus::Queued)
    );
    // The plan has come to the end of the queue.
    let applying = scene.lease().await;
    assert_eq!(applying.run, queued);
    scene.applied(&applying).await;
    let again = scene.lease().await;
    assert_eq!((again.run, again.attempt), (lease.run, 2));
}

pub async fn plans_wait_while_their_task_is_applied_and_the_other_way_round<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let applying = scene.leased("a", "1").await;
    let planned = scene.queue_plan("a", "1").await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);
    let completed = scene.applied(&applying).await;
    assert_eq!(completed.next_due, Some(seconds(0)), "the plan is due");
    let lease = scene.lease().await;
    assert_eq!(lease.run, planned);
    let queued = scene.queue("a", "2").await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.next_due().await, None);
    let completed = scene.planned(&lease, "text").await;
    assert_eq!(completed.next_due, Some(seconds(0)));
    assert_eq!(scene.lease().await.run, queued);
}

pub async fn plans_of_one_task_are_all_made_one_after_another<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let mut runs = Vec::new();
    for text in ["1", "1", "2"] {
        runs.push(scene.queue_plan("a", text).await);
    }
    for run in runs {
        let lease = scene.lease().await;
        assert_eq!(lease.run, run);
        assert_eq!(scene.acquire().await, None);
        scene.planned(&lease, "text").await;
    }
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_plan_is_made_whatever_is_applied_or_queued<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    assert_eq!(ask(&scene, "a", "1").await.decision, Some(Enqueue));
    scene.planned(&scene.lease().await, "text").await;
    let applying = scene.leased("a", "2").await;
    assert_eq!(ask(&scene, "a", "2").await.decision, Some(Enqueue));
    let queued = scene.queue("a", "3").await;
    assert_eq!(ask(&scene, "a", "3").await.decision, Some(Enqueue));
    let record = scene.run(queued).await;
    assert_eq!(
        (record.status, record.input),
        (RunStatus::Queued, input("3").hash)
    );
    scene.applied(&applying).await;
}

pub async fn inputs_are_decided_as_if_there_were_no_plans<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let planning = leased_plan(&scene, "a", "1").await;
    scene.queue_plan("a", "1").await;
    // A planned input is not being applied, and an input that is queued to be planned is not queued to be
    // applied.
    let first = scene.enqueue("a", "1").await;
    assert_eq!(first.decision, Some(Enqueue));
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(Keep));
    let newer = scene.enqueue("a", "2").await;
    assert_eq!(
        (newer.decision, newer.queued),
        (Some(Replace), first.queued)
    );
    scene.planned(&planning, "text").await;
    scene.planned(&scene.lease().await, "text").await;
    let applying = scene.lease().await;
    assert_eq!(Some(applying.run), first.queued);
    scene.queue_plan("a", "3").await;
    scene.applied(&applying).await;
    scene.lease().await;
    let changed = scene.queue("a", "3").await;
    let back = scene.enqueue("a", "2").await;
    assert_eq!((back.queued, back.cancelled), (None, Some(changed)));
}

pub async fn a_newer_input_does_not_cancel_a_plan<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = leased_plan(&scene, "a", "1").await;
    scene.queue("a", "2").await;
    let completed = scene.interrupted(&lease).await;
    assert_eq!(completed.status, RunStatus::Queued);
    assert_eq!(scene.run(lease.run).await.status, RunStatus::Queued);

    // Nor does a plan count as a newer input.
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.queue_plan("a", "2").await;
    let completed = scene.interrupted(&lease).await;
    assert_eq!(completed.status, RunStatus::Queued);
    let plans = Claim {
        kinds: RunKinds::PLANS,
        ..claim()
    };
    let planning = scene.acquire_as(&plans).await.expect("it is due");
    scene.planned(&planning, "text").await;
    let last = scene.fail_thrice(scene.lease().await).await;
    assert_eq!(last.next_due, Some(seconds(60)));
}

pub async fn a_disabled_task_can_be_planned<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let queued = scene.queue("a", "1").await;
    let mut off = spec("a");
    off.enabled = false;
    scene.configure(std::slice::from_ref(&off)).await;
    assert_eq!(scene.acquire().await, None);
    let run = scene.queue_plan("a", "2").await;
    assert_eq!(scene.next_due().await, Some(seconds(0)));
    let lease = scene.lease().await;
    assert_eq!(lease.run, run);
    scene.planned(&lease, "text").await;
    assert_eq!(scene.acquire().await, None);
    assert_eq!(scene.run(queued).await.status, RunStatus::Cancelled);
}

pub async fn an_unknown_task_cannot_be_planned<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let answer = ask(&scene, "other", "1").await;
    assert_eq!((answer.decision, answer.queued), (None, None));
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_repeated_request_for_a_plan_changes_nothing<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let request = scene.plan_request("a", "1");
    let run = scene.queue_new(request.clone()).await;
    let again = scene.request_all(vec![request.clone()]).await.remove(0);
    assert_eq!((again.decision, again.queued), (Some(Keep), Some(run)));
    let lease = scene.lease().await;
    let again = scene.request_all(vec![request]).await.remove(0);
    assert_eq!((again.decision, again.queued), (Some(Keep), None));
    scene.planned(&lease, "text").await;
    assert_eq!(scene.acquire().await, None);
}

/// So nothing is applied where only plans are wanted, and no worker that would apply a plan gets one.
pub async fn only_claimed_kinds_are_leased<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let of = |kinds| Claim { kinds, ..claim() };
    let applies = RunKinds::APPLIES;
    let planned = scene.queue_plan("a", "1").await;
    assert_eq!(scene.acquire_as(&of(applies)).await, None);
    scene.advance(seconds(1));
    let queued = scene.queue("b", "1").await;
    let lease = scene.acquire_as(&of(applies)).await.expect("it is due");
    assert_eq!(lease.run, queued);
    scene.interrupted(&lease).await;
    let lease = scene.acquire_as(&of(RunKinds::PLANS)).await;
    assert_eq!(lease.expect("it is due").run, planned);
    assert_eq!(scene.acquire_as(&of(RunKinds::PLANS)).await, None);
    let neither = RunKinds {
        applies: false,
        ..applies
    };
    assert_eq!(scene.acquire_as(&of(neither)).await, None);
    assert_eq!(scene.lease().await.run, queued);
}

pub async fn plans_count_in_the_queue<F: Fixture>() {
    let mut off = spec("off");
    off.enabled = false;
    let scene = Scene::<F>::configured(&[spec("a"), off]).await;
    scene.queue("a", "1").await;
    scene.queue_plan("a", "1").await;
    scene.queue_plan("off", "1").await;
    scene.advance(seconds(3));
    let depth = scene.queue_depth().await;
    assert_eq!((depth.queued, depth.ready, depth.running), (3, 3, 0));
    scene.lease().await;
    let depth = scene.queue_depth().await;
    assert_eq!((depth.queued, depth.ready, depth.running), (2, 1, 1));
    assert_eq!(depth.oldest_ready, Some(seconds(3)));
}

/// Their callers are dead.
pub async fn releasing_everything_cancels_plans<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let running = leased_plan(&scene, "a", "1").await;
    let waiting = scene.queue_plan("a", "1").await;
    let applying = scene.leased("b", "1").await;
    let mut released = scene.release_all().await;
    released.sort_by_key(|requeued| requeued.run);
    let statuses: Vec<_> = released.iter().map(|r| (r.run, r.status)).collect();
    let expected = [
        (running.run, RunStatus::Cancelled),
        (applying.run, RunStatus::Queued),
    ];
    assert_eq!(statuses, expected);
    for run in [running.run, waiting] {
        let record = scene.run(run).await;
        assert_eq!(record.status, RunStatus::Cancelled);
        assert!(record.finished_at.is_some());
    }
    assert_eq!(scene.lease().await.run, applying.run);
    assert_eq!(scene.acquire().await, None);
}

pub async fn a_worker_that_applied_a_plan_has_failed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = leased_plan(&scene, "a", "1").await;
    let completed = scene.applied(&lease).await;
    assert_eq!(
        (completed.status, completed.event),
        (RunStatus::Failed, None)
    );
    assert!(scene.run(lease.run).await.error().is_some());
    assert_eq!(scene.enqueue("a", "1").await.decision, Some(Enqueue));
}

pub async fn a_worker_that_only_planned_an_apply_has_failed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    let completed = scene.planned(&lease, "text").await;
    assert_eq!(completed.status, RunStatus::Queued);
    assert_eq!(completed.next_due, Some(seconds(1)));
    let record = scene.run(lease.run).await;
    assert_eq!((record.errors.len(), record.plan), (1, None));
}

pub async fn plans_push_out_no_result_and_are_kept_for_a_while_only<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let applied = scene.apply("a", "1").await;
    let mut plans = Vec::new();
    for number in 0..PLANS_KEPT + 2 {
        scene.advance(seconds(1));
        let lease = leased_plan(&scene, "a", "1").await;
        match number % 2 {
            0 => scene.planned(&lease, "text").await,
            _ => scene.failed(&lease, "no").await,
        };
        plans.push(lease.run);
    }
    let prune = async |keep| {
        scene
            .store()
            .prune(Retention::of_any_age(keep))
            .await
            .expect("runs can go")
    };
    assert_eq!(prune(500).await, 2);
    for (run, stays) in plans.iter().zip([false, false, true]) {
        assert_eq!(scene.find_run(*run).await.is_some(), stays);
    }
    assert_eq!(prune(1).await, u64::from(PLANS_KEPT) - 1);
    assert!(scene.find_run(applied).await.is_some());
    assert_eq!(scene.state("a").await.events.len(), 1);
}

pub async fn plans_outlive_a_restart<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a"]).await;
    let planned = leased_plan(&scene, "a", "1").await;
    scene.planned(&planned, "text").await;
    let running = leased_plan(&scene, "a", "1").await;
    let waiting = scene.queue_plan("a", "1").await;
    let before = scene.run(planned.run).await;
    scene.restart().await;
    assert_eq!(scene.run(planned.run).await, before);
    scene.planned(&running, "text").await;
    assert_eq!(scene.lease().await.run, waiting);
}
