//! Applies that accompany something else: guards hold them, and the task owes them.

use cts_core::RunId;
use cts_core::runs::EnqueueDecision::{Block, Enqueue, Keep, Skip, Withhold};
use cts_core::runs::{Occasion, RunKind};
use cts_core::state::StateDecision;
use cts_store::{EnqueueRequest, RefusedCode};

use crate::Fixture;
use crate::guards::{apply, decide, held, with};
use crate::scene::{Scene, seconds, task, unretried};

/// The owed run of the task, and why the request was refused.
async fn owed<F: Fixture>(scene: &Scene<F>, run: RunId) -> (Option<Occasion>, Option<RefusedCode>) {
    let request = scene.find_request(run).await;
    let refused = request.and_then(|request| request.refused);
    let state = scene.state("a").await;
    (state.owes_run, refused.map(|refused| refused.code))
}

pub async fn accompanying_run_is_blocked_and_owed_until_an_apply_begins<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    apply(&scene, 10).await;
    let run = scene.accompany("a").await;
    let request = EnqueueRequest {
        run,
        ..with(&scene, 2)
    };
    let answer = scene.request_all(vec![request.clone()]).await.remove(0);
    assert_eq!((answer.decision, answer.queued), (Some(Block), None));
    assert!(answer.refused.is_some());
    assert_eq!(held(&scene).await, [(10, 2)]);
    let waits = (Some(Occasion::Declaration), Some(RefusedCode::Held));
    assert_eq!(owed(&scene, run).await, waits);
    let again = scene.request_all(vec![request]).await.remove(0);
    assert_eq!(again.decision, None, "the request is refused for good");

    // The instances are back, and nothing is skipped.
    assert_eq!(decide(&scene, 10).await, Enqueue);
    assert_eq!(decide(&scene, 10).await, Keep);
    assert_eq!(owed(&scene, run).await.0, Some(Occasion::Declaration));
    let lease = scene.lease().await;
    assert_eq!(owed(&scene, run).await.0, None);
    scene.applied(&lease).await;
    let skip = Skip {
        cancel_queued: false,
    };
    assert_eq!(decide(&scene, 10).await, skip);

    // Without a loss the request is carried out. It is the owed run, so no trigger before it makes one.
    let run = scene.accompany("a").await;
    assert_eq!(decide(&scene, 10).await, skip);
    let request = EnqueueRequest {
        run,
        ..with(&scene, 10)
    };
    let answer = scene.request_all(vec![request]).await.remove(0);
    assert_eq!((answer.decision, answer.queued), (Some(Enqueue), Some(run)));
    assert_eq!(answer.refused, None);
}

pub async fn accompanying_run_is_owed_while_a_cancelled_input_is_withheld<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let queued = scene.queue("a", "1").await;
    scene.cancel(queued, false).await;
    let run = scene.accompany("a").await;
    let request = EnqueueRequest {
        run,
        ..scene.request("a", "1")
    };
    let answer = scene.request_all(vec![request]).await.remove(0);
    assert_eq!(answer.decision, Some(Withhold));
    let waits = (Some(Occasion::Declaration), Some(RefusedCode::Held));
    assert_eq!(owed(&scene, run).await, waits);
    let run = scene.ask("a", RunKind::Apply).await;
    scene.enqueue_requested(run, "1").await;
    scene.lease().await;
    assert_eq!(scene.state("a").await.owes_run, None);
}

pub async fn a_decision_about_a_state_is_held_except_with_the_input_that_it_is_about<F: Fixture>() {
    for (instances, expected) in [(2, Enqueue), (1, Block)] {
        let scene = Scene::<F>::configured(&[unretried("a")]).await;
        apply(&scene, 10).await;
        let run = scene.ask("a", RunKind::Apply).await;
        let request = EnqueueRequest {
            run,
            ..with(&scene, 2)
        };
        scene.request_all(vec![request]).await;
        let lease = scene.lease().await;
        scene.failed(&lease, "no").await;
        scene.advance(seconds(60));
        let lease = scene.lease().await;
        scene.fail_thrice(lease).await;
        let run = scene.run_id();
        let from = StateDecision::From(task("earlier"));
        let (store, name) = (scene.store(), task("a"));
        let decided = store.decide_terraform_state(&name, &from, run).await;
        decided.expect("the name is free");
        let request = EnqueueRequest {
            run,
            ..with(&scene, instances)
        };
        let answer = scene.request_all(vec![request]).await.remove(0);
        assert_eq!(answer.decision, Some(expected), "{instances}");
        assert_eq!(answer.refused.is_some(), expected == Block);
        assert_eq!(scene.state("a").await.owes_run, Some(Occasion::State));
    }
}
