//! A walk over every kind of run, every moment at which settings change, and every way in which a lease ends.

use cts_core::runs::{RunKind, RunStatus};
use cts_core::{Creation, RunId, TaskPhase};

use crate::Fixture;
use crate::queued_settings::{
    applied, begin_again, delete, plan_destruction, register, replace, scene, settle, unsettled,
};
use crate::scene::{LEASE, Scene, seconds};
use crate::settings::{acquire, needing, queue_for};
use cts_store::{Lease, RunFilter, RunRecord};

/// A run of a change is put back as well: while Consul is away its leader cannot queue it again.
pub async fn requeued_run_goes_to_workers_with_the_settings_in_force<F: Fixture>() {
    for end in End::ALL {
        let scene = scene::<F>().await;
        queue_for(&scene, "a", "1", 1).await;
        let lease = acquire(&scene, "one").await.expect("it has the settings");
        replace(&scene).await;
        end.of(&scene, &lease).await;
        register(&scene).await;
        scene.advance(seconds(3600));
        assert_eq!(acquire(&scene, "one").await, None, "{end:?}");
        let taken = acquire(&scene, "two").await.is_some();
        assert_eq!(taken, end != End::Success, "{end:?}");
    }
}

/// How a lease ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Success,
    Failure,
    FailureForGood,
    Interruption,
    Loss,
    LossInVain,
    InterruptedWait,
    LostWait,
    Release,
}

impl End {
    const ALL: [Self; 9] = [
        Self::Success,
        Self::Failure,
        Self::FailureForGood,
        Self::Interruption,
        Self::Loss,
        Self::LossInVain,
        Self::InterruptedWait,
        Self::LostWait,
        Self::Release,
    ];

    async fn of<F: Fixture>(self, scene: &Scene<F>, lease: &Lease) {
        if matches!(self, Self::InterruptedWait | Self::LostWait) {
            let (store, holder) = (scene.store(), &lease.holder);
            let suspended = store.suspend(lease.run, holder, lease.epoch, 1, "a person");
            suspended.await.expect("a leased run can wait");
        }
        match self {
            Self::Success => drop(scene.succeeded(lease).await),
            Self::Failure => drop(scene.failed(lease, "no").await),
            Self::FailureForGood => fail_for_good(scene, lease.clone()).await,
            Self::Interruption | Self::InterruptedWait => drop(scene.interrupted(lease).await),
            Self::Loss | Self::LostWait => {
                scene.advance(LEASE);
                assert_eq!(scene.reap().await.len(), 1);
            }
            Self::LossInVain => {
                // No scheduler could renew it.
                scene.advance(LEASE * 10);
                scene.lead().await;
                assert_eq!(scene.reap().await.len(), 1);
            }
            Self::Release => {
                scene.release_all().await;
            }
        }
    }
}

/// Fails again and again, with whatever settings the run has, until another run or none is queued.
async fn fail_for_good<F: Fixture>(scene: &Scene<F>, lease: Lease) {
    let run = lease.run;
    scene.failed(&lease, "no").await;
    for _ in 0..5 {
        scene.advance(seconds(3600));
        let record = scene.find_run(run).await;
        if record.is_none_or(|record| record.status.is_end()) {
            return;
        }
        // The leader looks again.
        settle(scene).await;
        let again = acquire(scene, "two")
            .await
            .expect("it has the settings in force");
        scene.failed(&again, "no").await;
    }
}

/// When the settings change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    BeforeItIsQueued,
    WhileItIsQueued,
    WhileItRuns,
    AfterItsLease,
}

impl Moment {
    const ALL: [Self; 4] = [
        Self::BeforeItIsQueued,
        Self::WhileItIsQueued,
        Self::WhileItRuns,
        Self::AfterItsLease,
    ];
}

/// Kinds of queued work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Change,
    Requested(RunKind),
    RequestedOfDisabled,
    Creation(RunKind),
    Inspection(RunKind),
    Destroy,
    DestroyPlan,
}

impl Work {
    const ALL: [Self; 12] = [
        Self::Change,
        Self::Requested(RunKind::Apply),
        Self::Requested(RunKind::Plan),
        Self::Requested(RunKind::Check),
        Self::RequestedOfDisabled,
        Self::Creation(RunKind::Apply),
        Self::Creation(RunKind::Plan),
        Self::Creation(RunKind::Check),
        Self::Inspection(RunKind::Plan),
        Self::Inspection(RunKind::Check),
        Self::Destroy,
        Self::DestroyPlan,
    ];

    /// Queues it as a leader does that still works with the settings 1.
    async fn queue<F: Fixture>(self, scene: &Scene<F>) -> RunId {
        let run = match self {
            Self::Change => return queue_for(scene, "a", "newer", 1).await,
            Self::Destroy => return delete(scene).await,
            Self::DestroyPlan => return plan_destruction(scene).await,
            Self::Requested(kind) => scene.ask("a", kind).await,
            Self::RequestedOfDisabled => {
                scene.enable("a", false).await;
                scene.ask("a", RunKind::Apply).await
            }
            Self::Creation(kind) => scene.draft("new", kind).await,
            Self::Inspection(kind) => {
                let new = scene.new_task("new", Creation::Discard, kind);
                scene.create(&new).await;
                new.run
            }
        };
        let request = needing(scene.request_of(run, "newer").await, 1);
        scene.request_all(vec![request]).await;
        run
    }
}

/// Every kind of run, with a change of settings at every moment and every end of its lease.
///
/// A worker with the settings in force leases the queued run and brings it to its end; a worker with others
/// gets nothing.
pub async fn every_run_survives_a_change_of_settings<F: Fixture>() {
    let scene = scene::<F>().await;
    for work in Work::ALL {
        for moment in Moment::ALL {
            for end in End::ALL {
                // Without a lease before the change only one end is possible, and the last attempt comes
                // after the change.
                let queued_late =
                    matches!(moment, Moment::BeforeItIsQueued | Moment::WhileItIsQueued);
                let fails_after = moment == Moment::AfterItsLease && end == End::FailureForGood;
                if queued_late && end != End::Success || fails_after {
                    continue;
                }
                begin_again(&scene).await;
                survives(&scene, work, moment, end).await;
            }
        }
    }
}

async fn survives<F: Fixture>(scene: &Scene<F>, work: Work, moment: Moment, end: End) {
    let context = format!("{work:?} {moment:?} {end:?}");
    applied(scene).await;
    if moment == Moment::BeforeItIsQueued {
        replace(scene).await;
    }
    let run = work.queue(scene).await;
    if matches!(moment, Moment::WhileItRuns | Moment::AfterItsLease) {
        let lease = acquire(scene, "one").await;
        let leased = lease.as_ref().map(|lease| lease.run);
        assert_eq!(leased, Some(run), "{context}");
        let lease = lease.expect("it is leased");
        if moment == Moment::WhileItRuns {
            replace(scene).await;
        }
        end.of(scene, &lease).await;
        register(scene).await;
    }
    match moment {
        Moment::BeforeItIsQueued => settle(scene).await,
        Moment::WhileItIsQueued | Moment::AfterItsLease => replace(scene).await,
        Moment::WhileItRuns => {}
    }
    // Without a further look of the leader; what destroys gets other settings only by that.
    let lacking = unsettled(scene).await;
    let destroys = lacking.iter().all(|run| run.destroys);
    assert!(destroys, "{context}: {lacking:?}");
    settle(scene).await;
    if moment != Moment::WhileItRuns {
        queue_changes_again(scene).await;
    }
    comes_to_its_end(scene, &context).await;
    let phases = scene.phases().await;
    let ready = phases.iter().all(|(_, phase)| *phase == TaskPhase::Ready);
    assert!(ready, "{context}: {phases:?}");
    if !matches!(end, End::Failure | End::FailureForGood | End::Release) {
        let created = matches!(work, Work::Creation(_));
        let there = scene.stored("new").await.is_some();
        assert_eq!(there, created, "{context}");
    }
}

async fn queued<F: Fixture>(scene: &Scene<F>) -> Vec<RunRecord> {
    let filter = RunFilter {
        status: Some(RunStatus::Queued),
        limit: 100,
        ..RunFilter::default()
    };
    let queued = scene.store().runs(&filter).await;
    queued.expect("runs can be listed")
}

/// Queues the tasks again that run for changes, as a leader does when their settings change.
async fn queue_changes_again<F: Fixture>(scene: &Scene<F>) {
    for record in queued(scene).await {
        if record.kind == RunKind::Apply && !record.no_retry {
            queue_for(scene, record.task.as_str(), "newest", 2).await;
        }
    }
}

async fn comes_to_its_end<F: Fixture>(scene: &Scene<F>, context: &str) {
    scene.advance(seconds(3600));
    for _ in 0..5 {
        assert_eq!(acquire(scene, "one").await, None, "{context}");
        let Some(lease) = acquire(scene, "two").await else {
            break;
        };
        scene.succeeded(&lease).await;
    }
    assert_eq!(queued(scene).await, [], "{context}");
}
