//! When housekeeping was done last, and the space of logs.

use std::time::Duration;

use cts_core::RunId;

use crate::Fixture;
use crate::scene::{Scene, line, seconds};
use cts_store::{
    LINE_SPACE, LINES_PRUNED_AT_ONCE, LastHousekeeping, LeaderError, Lease, LogLine, LogStream,
    REMOVED_LOG, Removed, SpaceWarnings,
};

async fn last<F: Fixture>(scene: &Scene<F>) -> LastHousekeeping {
    let last = scene.store().last_housekeeping(scene.leader()).await;
    last.expect("the leader is obeyed")
}

async fn since<F: Fixture>(scene: &Scene<F>) -> Option<Duration> {
    last(scene).await.since
}

async fn end<F: Fixture>(scene: &Scene<F>, warned: SpaceWarnings) {
    let ended = scene.store().end_housekeeping(scene.leader(), warned).await;
    ended.expect("the leader is obeyed");
}

async fn next_leader<F: Fixture>(scene: &Scene<F>) {
    scene.release_all().await;
    scene.lead().await;
}

pub async fn the_last_housekeeping_is_known_whoever_leads<F: Fixture>() {
    let mut scene = Scene::<F>::new(&[]).await;
    assert_eq!(since(&scene).await, Some(Duration::ZERO), "a new store");
    for leader in 1..=5 {
        scene.advance(seconds(1));
        next_leader(&scene).await;
        assert_eq!(since(&scene).await, Some(seconds(leader)));
    }
    let warned = SpaceWarnings {
        logs: true,
        plans: false,
    };
    end(&scene, warned).await;
    scene.advance(seconds(2));
    let expected = LastHousekeeping {
        since: Some(seconds(2)),
        warned,
    };
    assert_eq!(last(&scene).await, expected);
    scene.restart().await;
    next_leader(&scene).await;
    assert_eq!(last(&scene).await, expected);
    let warned = SpaceWarnings {
        logs: false,
        plans: true,
    };
    end(&scene, warned).await;
    assert_eq!(last(&scene).await.warned, warned);
}

pub async fn an_earlier_leader_does_no_housekeeping<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    let earlier = scene.leader();
    assert_eq!(since(&scene).await, Some(Duration::ZERO));
    scene.advance(seconds(1));
    next_leader(&scene).await;
    let ended = scene
        .store()
        .end_housekeeping(earlier, SpaceWarnings::default())
        .await;
    assert!(matches!(ended, Err(LeaderError::Deposed { epoch }) if epoch == earlier));
    let seen = scene.store().last_housekeeping(earlier).await;
    assert!(matches!(seen, Err(LeaderError::Deposed { .. })));
    assert_eq!(since(&scene).await, Some(seconds(1)));
}

/// A line of this space, in bytes.
fn line_of(space: u32) -> LogLine {
    let text = usize::try_from(space - LINE_SPACE).expect("a length");
    line("x".repeat(text))
}

/// A running run with a log of 1,000 bytes, in two lines.
async fn logged<F: Fixture>(scene: &Scene<F>, name: &str, text: &str) -> Lease {
    scene.advance(seconds(1));
    let lease = scene.leased(name, text).await;
    scene.append(&lease, vec![line_of(600), line_of(400)]).await;
    lease
}

async fn space<F: Fixture>(scene: &Scene<F>) -> u64 {
    let space = scene.store().log_space().await;
    space.expect("logs can be measured")
}

async fn remove<F: Fixture>(scene: &Scene<F>, bytes: u64) -> Removed {
    let removed = scene.store().remove_logs(bytes).await;
    removed.expect("logs can be removed")
}

async fn is_removed<F: Fixture>(scene: &Scene<F>, run: RunId) -> bool {
    let expected = LogLine {
        stream: LogStream::Stderr.into(),
        text: REMOVED_LOG.to_owned(),
    };
    scene.lines(run).await == [expected]
}

pub async fn the_space_of_logs_counts_every_line<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    assert_eq!(space(&scene).await, 0);
    let lease = logged(&scene, "a", "1").await;
    assert_eq!(space(&scene).await, 1000, "running");
    scene.append(&lease, vec![line("é")]).await;
    assert_eq!(space(&scene).await, 1102, "bytes, and no characters");
    let other = logged(&scene, "b", "1").await;
    assert_eq!(space(&scene).await, 2102);
    scene.applied(&other).await;
    scene.failed(&lease, "once").await;
    assert_eq!(space(&scene).await, 1000, "a queued run is not counted");
    scene.advance(seconds(10));
    let again = scene.lease().await;
    assert_eq!(again.run, lease.run);
    scene.applied(&again).await;
    for _ in 0..2 {
        assert_eq!(space(&scene).await, 2102, "ended");
    }
    assert_eq!(scene.prune(0).await, 2);
    assert_eq!(space(&scene).await, 0);
}

pub async fn logs_of_successful_runs_go_first_and_the_oldest_of_them<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b", "c"]).await;
    let failed = logged(&scene, "b", "1").await;
    scene.fail_thrice(failed.clone()).await;
    let mut applied = Vec::new();
    for round in 0..3 {
        let lease = logged(&scene, "a", &format!("{round}")).await;
        scene.applied(&lease).await;
        applied.push(lease.run);
    }
    let running = logged(&scene, "c", "1").await;
    assert_eq!(space(&scene).await, 5000);
    assert_eq!(remove(&scene, 0).await, Removed::default());
    let removed = |runs, bytes| Removed { runs, bytes };
    assert_eq!(remove(&scene, 1).await, removed(1, 1000));
    assert!(is_removed(&scene, applied[0]).await);
    assert_eq!(space(&scene).await, 4000);
    assert_eq!(remove(&scene, 1001).await, removed(2, 2000));
    assert!(is_removed(&scene, applied[1]).await && is_removed(&scene, applied[2]).await);
    assert_eq!(scene.lines(failed.run).await.len(), 2);
    assert_eq!(remove(&scene, u64::MAX).await, removed(1, 1000));
    assert!(is_removed(&scene, failed.run).await);
    assert_eq!(remove(&scene, u64::MAX).await, Removed::default());
    assert_eq!(scene.lines(running.run).await.len(), 2, "it is running");
    assert_eq!(space(&scene).await, 1000);
    scene.append(&running, vec![line_of(500)]).await;
    scene.applied(&running).await;
    assert_eq!(space(&scene).await, 1500);
    let events = scene.state("a").await.events;
    assert_eq!(events.len(), 3, "runs and events stay");
}

/// A reader of a log that has read up to a line gets the lines after it.
pub async fn a_removed_log_ends_where_it_ended<F: Fixture>() {
    let scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = logged(&scene, "a", "1").await;
    scene.applied(&lease).await;
    let empty = scene.apply("b", "1").await;
    space(&scene).await;
    remove(&scene, u64::MAX).await;
    let page = scene.store().read_log(lease.run, 1, 10).await;
    let page = page.expect("logs can be read").expect("the run is there");
    assert_eq!((page.position, page.lines.len(), page.ended), (2, 1, true));
    assert_eq!(scene.lines(empty).await, []);
}

pub async fn a_log_longer_than_one_transaction_is_removed<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lease = scene.leased("a", "1").await;
    for _ in 0..5 {
        let lines = vec![line(""); LINES_PRUNED_AT_ONCE as usize / 2];
        scene.append(&lease, lines).await;
    }
    scene.applied(&lease).await;
    let bytes = u64::from(LINES_PRUNED_AT_ONCE) * 5 / 2 * u64::from(LINE_SPACE);
    assert_eq!(space(&scene).await, bytes);
    assert_eq!(remove(&scene, 1).await, Removed { runs: 1, bytes });
    assert!(is_removed(&scene, lease.run).await);
    assert_eq!(space(&scene).await, 0);
}
