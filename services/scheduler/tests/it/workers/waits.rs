//! Leased runs that wait for something outside of cts.

use std::time::Duration;

use cts_proto::run::v1 as run;
use cts_proto::run::v1::{RunKind, RunStatus, WaitEnd};
use cts_proto::task::v1::RunMode;
use tonic::Status;

use crate::calls::{applied, checked, declared, interrupted, planned, suspension};
use crate::setup::{Setup, WORKER, instance, task};

const LONG: Duration = Duration::from_mins(1);
const GATE: &str = "a person who approves it";

impl Setup {
    async fn suspend(
        &self,
        lease: &run::Lease,
        waiting_for: &str,
        wait: Duration,
    ) -> Result<WaitEnd, Status> {
        let request = suspension(lease, waiting_for, wait);
        let response = self.runs.clone().suspend_run(request).await?;
        Ok(response.into_inner().end())
    }

    /// Why the run is to give up, which the scheduler must say.
    async fn told(&self, lease: &run::Lease) -> WaitEnd {
        let end = self.suspend(lease, "", Duration::from_secs(30)).await;
        end.unwrap()
    }

    async fn resume(&self, lease: &run::Lease) -> run::ResumeRunResponse {
        let request = run::ResumeRunRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            worker_id: WORKER.into(),
            number: 1,
        };
        let response = self.runs.clone().resume_run(request).await;
        response.unwrap().into_inner()
    }

    async fn interrupted(&self, lease: &run::Lease) -> RunStatus {
        self.complete(lease, interrupted()).await.unwrap()
    }
}

/// The task "t" of the file, whose first run waits.
async fn waiting() -> (Setup, run::Lease) {
    let setup = Setup::new(vec![task("t")], LONG).await;
    setup.watcher.show(vec![instance("w", 1)]);
    let lease = setup.acquired().await;
    let end = setup.suspend(&lease, GATE, Duration::ZERO).await;
    assert_eq!(end.unwrap(), WaitEnd::Unspecified);
    (setup, lease)
}

#[tokio::test]
async fn a_run_that_waits_says_for_what_until_it_goes_on() {
    let (setup, lease) = waiting().await;
    let found = setup.run(&lease.run_id).await.unwrap();
    assert_eq!(
        (found.status(), &*found.waiting_for),
        (RunStatus::Running, GATE)
    );
    assert_eq!(setup.queue().await.running, 0);
    let end = setup.suspend(&lease, "", Duration::from_millis(300)).await;
    assert_eq!(end.unwrap(), WaitEnd::Unspecified);
    assert!(setup.resume(&lease).await.goes_on);
    let found = setup.run(&lease.run_id).await.unwrap();
    assert_eq!(found.waiting_for, "");
    setup.applied(&lease).await;
}

#[tokio::test]
async fn newer_data_end_a_wait_and_are_applied() {
    let (setup, lease) = waiting().await;
    let (end, ()) = tokio::join!(setup.told(&lease), async {
        setup.watcher.show(vec![instance("w", 2)]);
    });
    assert_eq!(end, WaitEnd::NewerInput);
    let resumed = setup.resume(&lease).await;
    assert_eq!(
        (resumed.goes_on, resumed.end()),
        (false, WaitEnd::NewerInput)
    );
    assert_eq!(setup.interrupted(&lease).await, RunStatus::Cancelled);
    let newer = setup.acquired().await;
    assert_eq!(setup.input(&newer).await.services[0].port, 2);
    setup.applied(&newer).await;
}

#[tokio::test]
async fn a_task_that_waits_can_be_switched_off_run_replaced_and_deleted() {
    let (setup, lease) = waiting().await;
    let (end, update) = tokio::join!(
        setup.told(&lease),
        setup.update("t", Some(false), RunMode::Unspecified)
    );
    assert_eq!(end, WaitEnd::TaskChanged);
    assert!(!update.unwrap().task.unwrap().enabled);
    assert_eq!(setup.interrupted(&lease).await, RunStatus::Cancelled);

    let (setup, lease) = waiting().await;
    let (update, ()) = tokio::join!(setup.update("t", None, RunMode::Now), async {
        assert_eq!(setup.told(&lease).await, WaitEnd::NewerInput);
        setup.interrupted(&lease).await;
        setup.does(RunKind::Apply, applied()).await;
    });
    update.unwrap();

    let (setup, lease) = waiting().await;
    // The leader looks at all tasks.
    setup.created(declared("u")).await;
    let (replaced, ()) = tokio::join!(
        setup.replace("t", declared("t"), 0, RunMode::Unspecified),
        async {
            assert_ne!(setup.told(&lease).await, WaitEnd::Unspecified);
            setup.interrupted(&lease).await;
            setup.does(RunKind::Check, checked()).await;
        }
    );
    replaced.unwrap();

    let (setup, lease) = waiting().await;
    let (end, deleted) = tokio::join!(setup.told(&lease), setup.delete("t"));
    deleted.unwrap();
    assert_eq!(end, WaitEnd::TaskDeleted);
    setup.interrupted(&lease).await;
    setup.gone("t").await;
}

#[tokio::test]
async fn an_inspection_interrupts_a_wait_which_goes_on_afterwards() {
    let (setup, lease) = waiting().await;
    let (inspected, again) = tokio::join!(setup.update("t", None, RunMode::Inspect), async {
        assert_eq!(setup.told(&lease).await, WaitEnd::CheckQueued);
        setup.interrupted(&lease).await;
        setup.does(RunKind::Plan, planned("1 to add")).await;
        setup.acquired().await
    });
    inspected.unwrap();
    assert_eq!(again.run_id, lease.run_id);
    setup.applied(&again).await;
}
