//! Behaviours of the records of remote runs.

use cts_core::{
    Digest, RemoteConfiguration, RemoteRun, RemoteRuns, RemoteWorkspace, RunId, TaskRemoteRun,
};

use crate::Fixture;
use crate::scene::{LEASE, Scene, all_runs};
use cts_core::runs::EnqueueDecision;
use cts_store::Lease;

/// A remote run with texts that are not easy to keep.
pub(crate) fn remote_run(number: u32) -> RemoteRun {
    RemoteRun {
        workspace: RemoteWorkspace {
            hostname: "tfe.example.com:8443".to_owned(),
            organization: "netwörk \"'`;\\ ${x}".to_owned(),
            name: "cts-été".to_owned(),
            id: "ws-1".to_owned(),
            project: Some("prj-1".to_owned()),
        },
        number,
        id: Some(format!("run-{number}")),
        url: Some(format!("https://tfe.example.com/run-{number}")),
        status: "planning".to_owned(),
        waiting_for: Some("\u{1F600} another run".to_owned()),
        configuration: Some(RemoteConfiguration {
            id: "cv-1".to_owned(),
            digest: Digest::of(b"content"),
        }),
        ended: false,
        given_up: false,
        input: None,
        abandoned: true,
        verified_moves: Some(1),
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "it is compared with what a task keeps"
)]
fn newest(run: RunId, remote: &RemoteRun) -> Option<TaskRemoteRun> {
    let remote = remote.clone();
    Some(TaskRemoteRun { run, remote })
}

/// A remote run as the store keeps it: with the input of its run.
fn kept(lease: &Lease, remote: &RemoteRun) -> RemoteRun {
    RemoteRun {
        input: Some(lease.input),
        ..remote.clone()
    }
}

impl<F: Fixture> Scene<F> {
    async fn remote_runs(&self, lease: &Lease) -> RemoteRuns {
        let store = self.store();
        let runs = store.remote_runs(lease.run, &lease.holder, lease.epoch);
        runs.await.expect("a live lease can read")
    }
}

pub async fn the_holder_of_a_lease_records_a_remote_run<F: Fixture>() {
    let mut scene = Scene::<F>::new(&["a", "b"]).await;
    let lease = scene.leased("a", "1").await;
    assert_eq!(scene.remote_runs(&lease).await, RemoteRuns::default());
    let requested = RemoteRun {
        id: None,
        ..remote_run(1)
    };
    let planning = remote_run(1);
    for remote in [&requested, &planning, &planning] {
        scene.record_remote(&lease, remote).await;
        let remote = &kept(&lease, remote);
        let expected = RemoteRuns {
            own: Some(remote.clone()),
            newest: newest(lease.run, remote),
        };
        assert_eq!(scene.remote_runs(&lease).await, expected);
        assert_eq!(scene.run(lease.run).await.remote_run.as_ref(), Some(remote));
    }
    scene.restart().await;
    let planning = kept(&lease, &planning);
    let own = scene.remote_runs(&lease).await.own;
    assert_eq!(own.as_ref(), Some(&planning));
    scene.applied(&lease).await;
    let other = scene.leased("b", "1").await;
    assert_eq!(scene.remote_runs(&other).await, RemoteRuns::default());
    let listed = scene.listed(&all_runs()).await.into_iter();
    let listed: Vec<_> = listed.map(|run| (run.id, run.remote_run)).collect();
    assert_eq!(listed, [(other.run, None), (lease.run, Some(planning))]);
}

pub async fn a_remote_run_outlives_the_lease_under_which_it_was_recorded<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let lost = scene.leased("a", "1").await;
    scene.record_remote(&lost, &remote_run(1)).await;
    scene.advance(LEASE);
    scene.reap().await;
    let newer = scene.lease().await;
    assert_eq!(newer.run, lost.run);
    let runs = scene.remote_runs(&newer).await;
    let first = kept(&newer, &remote_run(1));
    assert_eq!(runs.newest, newest(newer.run, &first));
    assert_eq!(runs.own, Some(first));
    scene.record_remote(&newer, &remote_run(2)).await;
    scene.interrupted(&newer).await;
    let last = scene.lease().await;
    let second = Some(kept(&last, &remote_run(2)));
    assert_eq!(scene.remote_runs(&last).await.own, second);
    scene.applied(&last).await;
    assert_eq!(scene.run(last.run).await.remote_run, second);
}

pub async fn a_remote_run_for_an_older_input_is_given_up<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let first = scene.leased("a", "1").await;
    scene.record_remote(&first, &remote_run(1)).await;
    scene.interrupted(&first).await;
    let replaced = scene.enqueue("a", "2").await;
    assert_eq!(replaced.decision, Some(EnqueueDecision::Replace));
    let second = scene.lease().await;
    assert_eq!(second.run, first.run);
    let older = RemoteRun {
        given_up: true,
        ..kept(&first, &remote_run(1))
    };
    let runs = scene.remote_runs(&second).await;
    assert_eq!(runs.own.as_ref(), Some(&older));
    assert_eq!(runs.newest, newest(second.run, &older));
    // While it is ended, it is the one of this run, and still not followed.
    scene.record_remote(&second, &older).await;
    scene.interrupted(&second).await;
    let third = scene.lease().await;
    assert_eq!(scene.remote_runs(&third).await.own, Some(older));
    // Its own one is followed.
    scene.record_remote(&third, &remote_run(2)).await;
    let own = scene.remote_runs(&third).await.own;
    assert_eq!(own, Some(kept(&third, &remote_run(2))));
}

pub async fn the_newest_remote_run_of_a_task_outlives_its_run<F: Fixture>() {
    let scene = Scene::<F>::new(&["a"]).await;
    let first = scene.leased("a", "1").await;
    scene.record_remote(&first, &remote_run(1)).await;
    scene.applied(&first).await;
    scene.apply("a", "2").await;
    assert_eq!(scene.prune(1).await, 1);
    let lease = scene.leased("a", "3").await;
    let runs = scene.remote_runs(&lease).await;
    assert_eq!(runs.own, None);
    assert_eq!(
        runs.newest,
        newest(first.run, &kept(&first, &remote_run(1)))
    );
    scene.record_remote(&lease, &remote_run(2)).await;
    let runs = scene.remote_runs(&lease).await;
    assert_eq!(
        runs.newest,
        newest(lease.run, &kept(&lease, &remote_run(2)))
    );
}

pub async fn a_task_under_an_old_name_has_no_remote_run<F: Fixture>() {
    let scene = Scene::<F>::new(&[]).await;
    scene.created("a").await;
    let lease = scene.leased("a", "1").await;
    scene.record_remote(&lease, &remote_run(1)).await;
    scene.applied(&lease).await;
    assert!(scene.delete("a").await);
    scene.created("a").await;
    let lease = scene.leased("a", "2").await;
    assert_eq!(scene.remote_runs(&lease).await, RemoteRuns::default());
}
