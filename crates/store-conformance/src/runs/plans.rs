//! Runs that only plan.

use cts_core::TaskStatus;
use cts_core::runs::{EnqueueDecision, PLAN_BYTES, RunKind};

use crate::Fixture;
use crate::scene::{Scene, plan, seconds};
use cts_store::{EnqueueRequest, Lease, PLANS_KEPT, Retention};

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

pub async fn plans_and_checks_push_out_no_result_and_are_kept_for_a_while_only<F: Fixture>() {
    for kind in [RunKind::Plan, RunKind::Check] {
        let scene = Scene::<F>::new(&["a"]).await;
        let applied = scene.apply("a", "1").await;
        let mut runs = Vec::new();
        for number in 0..PLANS_KEPT + 2 {
            scene.advance(seconds(1));
            let request = EnqueueRequest {
                kind,
                ..scene.plan_request("a", "1")
            };
            runs.push(scene.queue_new(request).await);
            let lease = scene.lease().await;
            match number % 2 {
                0 => scene.succeeded(&lease).await,
                _ => scene.failed(&lease, "no").await,
            };
        }
        let prune = async |keep| {
            let pruned = scene.store().prune(Retention::of_any_age(keep)).await;
            pruned.expect("runs can go")
        };
        assert_eq!(prune(500).await, 2, "{kind:?}");
        for (run, stays) in runs.iter().zip([false, false, true]) {
            assert_eq!(scene.find_run(*run).await.is_some(), stays);
        }
        assert_eq!(prune(1).await, u64::from(PLANS_KEPT) - 1);
        assert!(scene.find_run(applied).await.is_some());
        assert_eq!(scene.state("a").await.events.len(), 1);
    }
}
