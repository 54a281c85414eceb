//! Steps that create, change and delete tasks.

use super::vocabulary::incomplete;
use cts_core::runs::{AttemptOutcome, EnqueueDecision, Occasion, RunKind, RunStatus};
use cts_core::{Creation, RunId, TaskPhase};

use super::{Scene, enqueue_request, spec, task};
use crate::Fixture;
use cts_store::{
    Completed, Deletion, EnqueueRequest, Enqueued, Lease, NewTask, RunRequest, StoredTask,
    TaskChange, TaskError, Unchanged,
};

impl<F: Fixture> Scene<F> {
    /// An enabled task with a new run.
    pub(crate) fn new_task(&self, name: &str, creation: Creation, kind: RunKind) -> NewTask {
        NewTask {
            spec: spec(name),
            creation,
            run: self.run_id(),
            kind,
        }
    }

    /// Begins to create it.
    pub(crate) async fn create(&self, new: &NewTask) {
        let created = self.store().create_task(new).await;
        created.expect("the name is free");
    }

    /// Begins to create a task that is kept if its run succeeds.
    pub(crate) async fn draft(&self, name: &str, kind: RunKind) -> RunId {
        let new = self.new_task(name, Creation::Keep, kind);
        self.create(&new).await;
        new.run
    }

    /// Creates an enabled task over the API, without an apply.
    pub(crate) async fn created(&self, name: &str) {
        let run = self.draft(name, RunKind::Check).await;
        let lease = self.lease_requested(run, "created").await;
        self.checked(&lease).await;
        let stored = self.stored(name).await.expect("the task is there");
        assert_eq!(stored.phase, TaskPhase::Ready);
    }

    pub(crate) async fn create_error(&self, name: &str) -> TaskError {
        let new = self.new_task(name, Creation::Keep, RunKind::Check);
        let created = self.store().create_task(&new).await;
        created.expect_err("the name is taken")
    }

    pub(crate) async fn stored(&self, name: &str) -> Option<StoredTask> {
        let stored = self.store().task(&task(name)).await;
        stored.expect("a task can be read")
    }

    /// Names and phases of all tasks but discarded ones.
    pub(crate) async fn phases(&self) -> Vec<(String, TaskPhase)> {
        let all = self.all_tasks().await.into_iter();
        all.map(|task| (task.spec.name().to_string(), task.phase))
            .collect()
    }

    /// All tasks but discarded ones, by position; asserts that their marks agree with them.
    pub(crate) async fn all_tasks(&self) -> Vec<StoredTask> {
        let store = self.store();
        let marks = store.task_marks().await.expect("tasks can be read");
        let names: Vec<_> = marks.iter().map(|mark| mark.name.clone()).collect();
        assert!(names.is_sorted());
        let mut tasks = store.tasks_named(&names).await.expect("tasks can be read");
        tasks.sort_by(|one, other| one.spec.name().cmp(other.spec.name()));
        for (mark, task) in marks.iter().zip(&tasks) {
            let is = (
                task.spec.name(),
                task.revision,
                task.phase,
                task.spec.enabled,
            );
            assert_eq!((&mark.name, mark.revision, mark.phase, mark.enabled), is);
        }
        assert_eq!(marks.len(), tasks.len());
        tasks
    }

    /// Names of the visible tasks.
    pub(crate) async fn names(&self) -> Vec<String> {
        let tasks = self.store().tasks().await.expect("tasks can be read");
        let tasks = tasks.into_iter();
        tasks.map(|task| task.spec.name().to_string()).collect()
    }

    pub(crate) async fn change(
        &self,
        name: &str,
        change: TaskChange,
    ) -> Result<StoredTask, TaskError> {
        self.store().change_task(&task(name), &change).await
    }

    pub(crate) async fn enable(&self, name: &str, enabled: bool) -> StoredTask {
        let change = TaskChange {
            enabled: Some(enabled),
            ..TaskChange::default()
        };
        let changed = self.change(name, change).await;
        changed.expect("the task can be changed")
    }

    /// Requests a run of an existing task.
    pub(crate) async fn ask(&self, name: &str, kind: RunKind) -> RunId {
        let run = self.run_id();
        let change = TaskChange {
            request: Some((run, kind)),
            ..TaskChange::default()
        };
        let changed = self.change(name, change).await;
        changed.expect("a run can be requested");
        run
    }

    /// Requests an apply that accompanies a declaration.
    pub(crate) async fn accompany(&self, name: &str) -> RunId {
        let run = self.run_id();
        let change = TaskChange {
            request: Some((run, RunKind::Apply)),
            accompanies: Some(Occasion::Declaration),
            ..TaskChange::default()
        };
        let changed = self.change(name, change).await;
        changed.expect("a run can be requested");
        run
    }

    /// Whether the task is gone already.
    pub(crate) async fn delete(&self, name: &str) -> bool {
        self.delete_as(name, Deletion::Retain).await
    }

    pub(crate) async fn delete_as(&self, name: &str, deletion: Deletion) -> bool {
        let deleted = self.store().delete_task(&task(name), deletion).await;
        deleted.expect("the task is there")
    }

    /// A deletion that destroys, if the task says so.
    pub(crate) fn as_task_says(&self) -> Deletion {
        Deletion::AsTaskSays { run: self.run_id() }
    }

    pub(crate) async fn drop_draft(&self, name: &str, run: RunId) {
        let dropped = self.store().drop_draft(&task(name), run).await;
        dropped.expect("a draft can be dropped");
    }

    pub(crate) async fn find_request(&self, run: RunId) -> Option<RunRequest> {
        let request = self.store().request(run).await;
        request.expect("a request can be read")
    }

    /// The open requests.
    pub(crate) async fn open_requests(&self) -> Vec<RunId> {
        let requests = self.store().requests().await;
        let requests = requests.expect("requests can be read").into_iter();
        requests.map(|request| request.run).collect()
    }

    pub(crate) async fn refuse(&self, run: RunId, reason: &str) {
        let refused = incomplete(reason);
        let refused = self.store().refuse(self.leader(), run, &refused).await;
        refused.expect("a request can be refused");
    }

    /// Makes the enqueue request for an open request, as the leader does.
    pub(crate) async fn request_of(&self, run: RunId, text: &str) -> EnqueueRequest {
        let request = self.find_request(run).await.expect("the request is there");
        EnqueueRequest {
            kind: request.kind,
            unchanged: Unchanged::Run,
            ..enqueue_request(request.task.as_str(), text, run)
        }
    }

    /// Queues a requested run, as the leader does.
    pub(crate) async fn enqueue_requested(&self, run: RunId, text: &str) -> Enqueued {
        let request = self.request_of(run, text).await;
        let enqueued = self.request_all(vec![request]).await.remove(0);
        assert!(
            matches!(
                enqueued.decision,
                Some(EnqueueDecision::Enqueue | EnqueueDecision::Supersede)
            ),
            "{enqueued:?}"
        );
        assert_eq!(enqueued.queued, Some(run));
        enqueued
    }

    /// Queues a requested run and leases it; nothing else may be due.
    pub(crate) async fn lease_requested(&self, run: RunId, text: &str) -> Lease {
        self.enqueue_requested(run, text).await;
        let lease = self.lease().await;
        assert_eq!(lease.run, run);
        lease
    }

    /// Ends an attempt at a check with success.
    pub(crate) async fn checked(&self, lease: &Lease) -> Completed {
        let outcome = AttemptOutcome::Checked;
        self.complete(self.completion(lease, outcome)).await
    }

    /// Ends an attempt to destroy with success.
    pub(crate) async fn destroyed(&self, lease: &Lease) -> Completed {
        let outcome = AttemptOutcome::Destroyed;
        self.complete(self.completion(lease, outcome)).await
    }

    /// Ends an attempt with success, whatever the run is for.
    pub(crate) async fn succeeded(&self, lease: &Lease) -> Completed {
        let completed = match lease.kind {
            RunKind::Apply => self.applied(lease).await,
            RunKind::Plan | RunKind::DestroyPlan => self.planned(lease, "the plan").await,
            RunKind::Check => self.checked(lease).await,
            RunKind::Destroy => self.destroyed(lease).await,
        };
        assert_eq!(completed.status, RunStatus::Succeeded);
        completed
    }
}
