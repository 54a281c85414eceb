//! Calls on tasks, and the part of a worker in them.

use std::time::Duration;

use cts_core::{RequestKey, RunId, TaskName};
use cts_proto::run::v1 as run;
use cts_proto::run::v1::complete_run_request::Outcome;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::RunMode;
use cts_rpc::convert;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::setup::{Setup, WORKER};

/// Long enough to see that something does not happen.
pub(crate) const SHORT: Duration = Duration::from_millis(300);

/// An enabled task on the service "web".
pub(crate) fn declared(name: &str) -> proto::Task {
    on_services(name, &["web"])
}

pub(crate) fn on_services(name: &str, services: &[&str]) -> proto::Task {
    let condition = proto::ServicesCondition {
        names: services.iter().map(|&name| name.into()).collect(),
        use_as_module_input: true,
        ..proto::ServicesCondition::default()
    };
    proto::Task {
        name: name.into(),
        enabled: true,
        module: "./m".into(),
        condition: Some(proto::Condition {
            kind: Some(proto::condition::Kind::Services(condition)),
        }),
        ..proto::Task::default()
    }
}

pub(crate) fn disabled(name: &str) -> proto::Task {
    proto::Task {
        enabled: false,
        ..declared(name)
    }
}

/// The first wait of a leased run.
pub(crate) fn suspension(
    lease: &run::Lease,
    waiting_for: &str,
    wait: Duration,
) -> run::SuspendRunRequest {
    run::SuspendRunRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        waiting_for: waiting_for.into(),
        wait: Some(convert::duration_to_wire(wait)),
        number: 1,
    }
}

pub(crate) fn checked() -> Outcome {
    Outcome::Checked(run::Checked {})
}

pub(crate) fn applied() -> Outcome {
    Outcome::Applied(run::Applied {})
}

pub(crate) fn planned(text: &str) -> Outcome {
    Outcome::Planned(run::Planned {
        text: text.into(),
        changes_present: true,
        ..run::Planned::default()
    })
}

pub(crate) fn failed(error: &str) -> Outcome {
    Outcome::Failed(run::Failed {
        error: error.into(),
        ..run::Failed::default()
    })
}

pub(crate) fn interrupted() -> Outcome {
    Outcome::Interrupted(run::Interrupted {})
}

pub(crate) fn destroyed() -> Outcome {
    Outcome::Destroyed(run::Destroyed {})
}

/// The end of the attempt of a lease of [`WORKER`].
pub(crate) fn completion(lease: &run::Lease, outcome: Outcome) -> run::CompleteRunRequest {
    run::CompleteRunRequest {
        run_id: lease.run_id.clone(),
        epoch: lease.epoch,
        worker_id: WORKER.into(),
        outcome: Some(outcome),
        ..run::CompleteRunRequest::default()
    }
}

/// A key of a request.
pub(crate) fn new_key() -> String {
    Uuid::new_v4().to_string()
}

/// Asserts that the run is that of the request of the task with this key.
pub(crate) fn assert_is_of(run: &str, task: &str, key: &str) {
    let (run, key): (RunId, RequestKey) = (run.parse().unwrap(), key.parse().unwrap());
    let task = TaskName::new(task).unwrap();
    assert!(run.has_key(key, &task), "{run} {task} {key}");
}

/// Code and word for programs.
pub(crate) fn refused(status: &Status) -> (Code, &str) {
    let reason = status.metadata().get("cts-reason");
    let reason = reason.map_or("", |reason| reason.to_str().unwrap());
    (status.code(), reason)
}

impl Setup {
    pub(crate) async fn create(
        &self,
        task: proto::Task,
        mode: RunMode,
    ) -> Result<proto::CreateTaskResponse, Status> {
        let request = proto::CreateTaskRequest {
            task: Some(task),
            run_mode: mode.into(),
        };
        let response = self.tasks.clone().create_task(request).await;
        response.map(tonic::Response::into_inner)
    }

    /// Creates a task, whose check succeeds.
    pub(crate) async fn created(&self, task: proto::Task) -> proto::Task {
        let (created, ()) = tokio::join!(
            self.create(task, RunMode::Unspecified),
            self.does(run::RunKind::Check, checked()),
        );
        created.unwrap().task.unwrap()
    }

    pub(crate) async fn update(
        &self,
        name: &str,
        enabled: Option<bool>,
        mode: RunMode,
    ) -> Result<proto::UpdateTaskResponse, Status> {
        self.update_as(name, enabled, mode, "").await
    }

    /// Creates a task, which applies.
    pub(crate) async fn created_and_applied(&self, task: proto::Task) -> proto::Task {
        let (created, ()) = tokio::join!(
            self.create(task, RunMode::Now),
            self.does(run::RunKind::Apply, applied()),
        );
        created.unwrap().task.unwrap()
    }

    /// Updates a task by a request with this key.
    pub(crate) async fn update_as(
        &self,
        name: &str,
        enabled: Option<bool>,
        mode: RunMode,
        key: &str,
    ) -> Result<proto::UpdateTaskResponse, Status> {
        let request = proto::UpdateTaskRequest {
            name: name.into(),
            enabled,
            run_mode: mode.into(),
            approve: String::new(),
            idempotency_key: key.into(),
        };
        let response = self.tasks.clone().update_task(request).await;
        response.map(tonic::Response::into_inner)
    }

    pub(crate) async fn replace(
        &self,
        name: &str,
        task: proto::Task,
        revision: u64,
        mode: RunMode,
    ) -> Result<proto::ReplaceTaskResponse, Status> {
        let request = proto::ReplaceTaskRequest {
            name: name.into(),
            task: Some(task),
            revision,
            run_mode: mode.into(),
            release: false,
        };
        let response = self.tasks.clone().replace_task(request).await;
        response.map(tonic::Response::into_inner)
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<(), Status> {
        self.delete_in(name, proto::DeletionMode::Unspecified).await
    }

    pub(crate) async fn delete_in(
        &self,
        name: &str,
        mode: proto::DeletionMode,
    ) -> Result<(), Status> {
        let request = proto::DeleteTaskRequest {
            name: name.into(),
            mode: mode.into(),
        };
        self.tasks.clone().delete_task(request).await.map(|_| ())
    }

    pub(crate) async fn explained(&self, name: &str) -> proto::Explanation {
        let request = proto::ExplainTaskRequest {
            name: name.into(),
            ..proto::ExplainTaskRequest::default()
        };
        let answer = self.tasks.clone().explain_task(request).await.unwrap();
        answer.into_inner().explanation.unwrap()
    }

    pub(crate) async fn state(&self, name: &str) -> proto::TaskState {
        let request = proto::GetTaskStateRequest {
            name: name.into(),
            include_events: true,
        };
        let state = self.tasks.clone().get_task_state(request).await.unwrap();
        state.into_inner().state.unwrap()
    }

    pub(crate) async fn queue(&self) -> run::GetQueueResponse {
        let queue = self.runs.clone().get_queue(run::GetQueueRequest {}).await;
        queue.unwrap().into_inner()
    }

    pub(crate) async fn renew(&self, lease: &run::Lease) -> Result<(), Status> {
        let renewal = run::RenewRunRequest {
            run_id: lease.run_id.clone(),
            epoch: lease.epoch,
            worker_id: WORKER.into(),
            ..run::RenewRunRequest::default()
        };
        self.runs.clone().renew_run(renewal).await.map(drop)
    }

    /// Waits until something is so.
    pub(crate) async fn until_so(&self, mut is_so: impl AsyncFnMut(&Self) -> bool) {
        self.until(async |setup| is_so(setup).await.then_some(()))
            .await;
    }

    pub(crate) async fn get(&self, name: &str) -> Option<proto::Task> {
        let request = proto::GetTaskRequest { name: name.into() };
        match self.tasks.clone().get_task(request).await {
            Ok(response) => response.into_inner().task,
            Err(status) => {
                assert_eq!(status.code(), Code::NotFound);
                None
            }
        }
    }

    pub(crate) async fn names(&self) -> Vec<String> {
        let mut parts = self
            .tasks
            .clone()
            .list_tasks(proto::ListTasksRequest {})
            .await
            .unwrap()
            .into_inner();
        let mut names = Vec::new();
        while let Some(part) = parts.message().await.unwrap() {
            names.extend(part.tasks.into_iter().map(|task| task.name));
        }
        names
    }

    /// Takes the next run, which must be of this kind, and ends it so.
    pub(crate) async fn does(&self, kind: run::RunKind, outcome: Outcome) {
        let lease = self.acquired().await;
        assert_eq!(lease.kind(), kind);
        self.complete(&lease, outcome).await.unwrap();
    }

    /// Waits until the leader has read the stored tasks again: it notices the requested plan in no other way.
    /// Inputs that it has frozen before are of the stored definitions, and disabled tasks are disabled for it.
    pub(crate) async fn leader_has_looked(&self, task: &str) {
        let (planned, ()) = tokio::join!(
            self.update(task, Some(true), RunMode::Inspect),
            self.does(run::RunKind::Plan, planned("")),
        );
        planned.unwrap();
    }

    pub(crate) async fn nothing_runs(&self) {
        assert_eq!(self.acquire(SHORT).await, None);
    }

    /// Polls until something is so.
    pub(crate) async fn until<T>(&self, mut look: impl AsyncFnMut(&Self) -> Option<T>) -> T {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(found) = look(self).await {
                return found;
            }
            assert!(tokio::time::Instant::now() < deadline, "it becomes so");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn gone(&self, name: &str) {
        self.until_so(async |setup| setup.get(name).await.is_none())
            .await;
    }
}
