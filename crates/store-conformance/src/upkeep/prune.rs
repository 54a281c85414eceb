//! Forgetting.

use cts_core::Digest;

use crate::Fixture;
use crate::scene::{Scene, bytes_of, input, input_of, line, noise, seconds, spec, stored_input};
use cts_store::{EnqueueRequest, LINES_PRUNED_AT_ONCE, PRUNED_AT_ONCE, Retention};

async fn has_input<F: Fixture>(scene: &Scene<F>, text: &str) -> bool {
    let stored = scene.store().input(input(text).hash).await;
    stored.expect("inputs can be read").is_some()
}

pub async fn logs_and_events_go_with_their_runs<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    scene.append(&lease, vec![line("x")]).await;
    scene.applied(&lease).await;
    assert_eq!(scene.prune(0).await, 1);
    let log = scene.store().read_log(lease.run, 0, 10).await;
    assert_eq!(log.expect("logs can be read"), None);
    assert_eq!(scene.state("a").await.events, []);
}

pub async fn contents_go_with_their_last_input<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let large = noise(100_000);
    let kept = async |bytes: &[u8]| {
        let hash = Digest::of(bytes);
        let contents = scene.store().contents(&[hash]).await;
        let contents = contents.expect("contents can be read");
        contents
            .first()
            .is_some_and(|content| content.bytes == bytes)
    };
    for (task, own) in [("a", b"one"), ("b", b"two")] {
        let input = input_of(&[own, &large]);
        let request = EnqueueRequest {
            input,
            ..scene.request(task, "")
        };
        scene.request_all(vec![request]).await;
        scene.applied(&scene.lease().await).await;
    }
    assert!(kept(&large).await && kept(b"one").await && kept(b"two").await);
    scene.configure(&[spec("b")]).await;
    assert_eq!(scene.prune(0).await, 2);
    assert!(!kept(&large).await && !kept(b"one").await && !kept(b"two").await);
}

/// Stores whole inputs, even if contents are forgotten between reading the stored ones and writing the rest.
pub async fn inputs_are_stored_whole_beside_a_prune<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let large = noise(100_000);
    for round in 0..20_u8 {
        let input = input_of(&[&[round], &large]);
        let (hash, expected) = (input.hash, bytes_of(&input));
        let request = EnqueueRequest {
            input,
            ..scene.request("a", "")
        };
        tokio::join!(scene.request_all(vec![request]), scene.prune(0));
        assert_eq!(stored_input(&*scene.store(), hash).await, Some(expected));
        scene.applied(&scene.lease().await).await;
    }
}

/// However often a name is used, all earlier tasks of it count together, apart from the existing one.
pub async fn the_history_of_deleted_tasks_is_forgotten_by_the_same_rule<F: Fixture>() {
    let scene = Scene::<F>::new(&["other"]).await;
    let other = scene.apply("other", "1").await;
    let mut runs = Vec::new();
    for round in 0..4 {
        scene.advance(seconds(1));
        scene.created("a").await;
        runs.push(scene.apply("a", &format!("{round}")).await);
        scene.delete("a").await;
    }
    scene.advance(seconds(1));
    scene.created("a").await;
    let own = scene.apply("a", "own").await;
    scene.prune(2).await;
    for (run, stays) in runs.iter().zip([false, false, true, true]) {
        assert_eq!(scene.find_run(*run).await.is_some(), stays);
    }
    for run in [own, other] {
        assert!(scene.find_run(run).await.is_some());
    }
    scene.delete("a").await;
    scene.prune(0).await;
    for run in [own, other, runs[3]] {
        assert_eq!(scene.find_run(run).await, None);
    }
    assert!(!has_input(&scene, "own").await);
}

async fn prune_older<F: Fixture>(scene: &Scene<F>, age: u64) -> u64 {
    let retention = Retention {
        runs: 100,
        age: seconds(age),
    };
    let pruned = scene.store().prune(retention).await;
    pruned.expect("old runs can be forgotten")
}

/// Runs of deleted tasks have no newer runs that push them out.
pub async fn old_runs_go_but_not_what_a_status_is_made_of<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.created("gone").await;
    let gone = scene.apply("gone", "1").await;
    scene.delete("gone").await;
    let mut runs = Vec::new();
    for round in 0..8 {
        scene.advance(seconds(1));
        runs.push(scene.apply("a", &format!("{round}")).await);
    }
    let before = scene.state("a").await.events;
    let cancelled = scene.queue("a", "flap").await;
    scene.enqueue("a", "7").await;
    assert_eq!(prune_older(&scene, 60).await, 0);
    scene.advance(seconds(61));
    let running = scene.leased("a", "running").await;
    assert!(prune_older(&scene, 60).await >= 5);
    for run in [gone, cancelled, runs[0], runs[1], runs[2]] {
        assert_eq!(scene.find_run(run).await, None);
    }
    for run in &runs[3..] {
        assert!(scene.find_run(*run).await.is_some());
    }
    assert_eq!(scene.state("a").await.events, before);
    scene.advance(seconds(61));
    assert_eq!(prune_older(&scene, 60).await, 0);
    assert!(scene.find_run(running.run).await.is_some());
}

pub async fn a_withdrawn_apply_stays_as_long_as_a_status_is_made_of_it<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    scene.apply("a", "1").await;
    let withdrawn = scene.queue("a", "2").await;
    scene.cancel(withdrawn, false).await;
    let before = scene.state("a").await.events;
    assert_eq!(before[0].run_id, Some(withdrawn));
    scene.advance(seconds(61));
    assert_eq!(prune_older(&scene, 60).await, 0);
    assert_eq!(scene.state("a").await.events, before);
    for round in 3..8 {
        scene.apply("a", &format!("{round}")).await;
    }
    assert_eq!(prune_older(&scene, 60).await, 2);
    assert_eq!(scene.find_run(withdrawn).await, None);
}

pub async fn prunes_more_runs_and_lines_than_one_transaction_takes<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "long"]).await;
    let lease = scene.leased("long", "1").await;
    for _ in 0..5 {
        let lines = vec![line("x"); LINES_PRUNED_AT_ONCE as usize / 2];
        scene.append(&lease, lines).await;
    }
    scene.applied(&lease).await;
    let runs = PRUNED_AT_ONCE + 10;
    for round in 0..runs {
        scene.apply("a", &format!("{round}")).await;
    }
    assert_eq!(scene.prune(0).await, runs as u64 + 1);
    assert_eq!(scene.find_run(lease.run).await, None);
    assert!(!has_input(&scene, "0").await);
    assert!(!has_input(&scene, &format!("{}", runs - 1)).await);
}
