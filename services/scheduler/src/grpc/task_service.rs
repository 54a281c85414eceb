//! `cts.task.v1.TaskService`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use cts_core::callers::{AuditAction, AuditRecord};
use cts_core::state::StateDecision;
use cts_core::{ApprovalRule, Clock, RequestKey, RunId, TaskName};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::task_service_server::TaskService;
use cts_rpc::admission::rights;
use cts_rpc::{chunks, convert};
use cts_store::{FileRules, Store, StoredTask};
use futures::Stream;
use tokio_stream::StreamExt as _;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use crate::audit::recorder::{note, record};
use crate::explain::{Board, Changes, explain};
use crate::grpc::task_states::{on_wire, state_to_wire};
use crate::status::OrStatus as _;
use crate::tasks::{DeletionMode, Done, Run, TaskCommands, TaskRefusal, unknown_task};
use crate::wire::visible_tasks;

#[derive(Debug)]
pub(crate) struct TaskEndpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) work: TaskCommands,
    pub(crate) board: Board,
    pub(crate) clock: Arc<dyn Clock>,
    /// Life of the leadership.
    pub(crate) leadership: Duration,
    /// Detached work, which must not end with the call that requested it.
    pub(crate) detached: TaskTracker,
}

type Parts<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl TaskService for TaskEndpoint {
    type ListTasksStream = Parts<proto::ListTasksResponse>;
    type ListTaskStatesStream = Parts<proto::ListTaskStatesResponse>;
    type ListCurrentStatesStream = Parts<proto::ListCurrentStatesResponse>;

    async fn list_tasks(
        &self,
        _request: Request<proto::ListTasksRequest>,
    ) -> Result<Response<Self::ListTasksStream>, Status> {
        let tasks = self.store.tasks().await.or_status()?;
        let rules = self.store.file_rules(None).await.or_status()?;
        let tasks = tasks.iter().map(|task| task_to_wire(task, &rules));
        let parts = chunks(tasks.collect::<Vec<_>>(), prost::Message::encoded_len)
            .map(|tasks| Ok(proto::ListTasksResponse { tasks }));
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }

    async fn get_task(
        &self,
        request: Request<proto::GetTaskRequest>,
    ) -> Result<Response<proto::GetTaskResponse>, Status> {
        let name = known_name(&request.get_ref().name)?;
        let task = self.store.task(&name).await.or_status()?;
        let task = task.ok_or_else(|| unknown_task(name.as_str()))?;
        let task = Some(self.shown(&task).await?);
        Ok(Response::new(proto::GetTaskResponse { task }))
    }

    async fn list_task_states(
        &self,
        request: Request<proto::ListTaskStatesRequest>,
    ) -> Result<Response<Self::ListTaskStatesStream>, Status> {
        let request = request.into_inner();
        let status = convert::task_status_from_wire(request.status());
        let states = self.store.task_states(status).await.or_status()?;
        let states = on_wire(states, request.include_events);
        let parts = chunks(states, prost::Message::encoded_len)
            .map(|states| Ok(proto::ListTaskStatesResponse { states }));
        Ok(Response::new(Box::pin(
            tokio_stream::iter(parts).map(|part| part),
        )))
    }

    async fn list_current_states(
        &self,
        request: Request<proto::ListCurrentStatesRequest>,
    ) -> Result<Response<Self::ListCurrentStatesStream>, Status> {
        self.board.look().await.or_status()?;
        let Changes {
            version,
            after,
            states,
            gone,
        } = self.board.changes(&request.get_ref().versions);
        let mut gone: Vec<String> = gone.into_iter().map(String::from).collect();
        let mut parts: Vec<_> = chunks(states, prost::Message::encoded_len).collect();
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        // The names that are gone come with the first part, and are few.
        let parts = parts.into_iter().map(move |states| {
            Ok(proto::ListCurrentStatesResponse {
                version: version.clone(),
                after: after.clone(),
                states,
                gone: std::mem::take(&mut gone),
            })
        });
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }

    async fn list_task_page(
        &self,
        request: Request<proto::ListTaskPageRequest>,
    ) -> Result<Response<proto::ListTaskPageResponse>, Status> {
        let mut request = request.into_inner();
        let tasks = visible_tasks(std::mem::take(&mut request.visible_tasks))?;
        self.board.look().await.or_status()?;
        Ok(Response::new(self.board.page(&request, &tasks)))
    }

    async fn get_task_grid(
        &self,
        request: Request<proto::GetTaskGridRequest>,
    ) -> Result<Response<proto::GetTaskGridResponse>, Status> {
        let tasks = visible_tasks(request.into_inner().visible_tasks)?;
        self.board.look().await.or_status()?;
        let grid = self.board.grid(&tasks);
        Ok(Response::new(proto::GetTaskGridResponse { grid }))
    }

    async fn get_task_version(
        &self,
        _request: Request<proto::GetTaskVersionRequest>,
    ) -> Result<Response<proto::GetTaskVersionResponse>, Status> {
        let version = self.store.version().await.or_status()?;
        Ok(Response::new(proto::GetTaskVersionResponse { version }))
    }

    async fn get_task_state(
        &self,
        request: Request<proto::GetTaskStateRequest>,
    ) -> Result<Response<proto::GetTaskStateResponse>, Status> {
        let request = request.into_inner();
        let name = known_name(&request.name)?;
        let state = self.store.task_state(&name).await.or_status()?;
        let state = state.ok_or_else(|| unknown_task(name.as_str()))?;
        let state = state_to_wire(state, request.include_events);
        Ok(Response::new(proto::GetTaskStateResponse {
            state: Some(state),
        }))
    }

    async fn create_task(
        &self,
        request: Request<proto::CreateTaskRequest>,
    ) -> Result<Response<proto::CreateTaskResponse>, Status> {
        let name = &request.get_ref().task.as_ref();
        let name = name.map(|task| task.name.clone()).unwrap_or_default();
        let record = record(&request, AuditAction::CreateTask, &name);
        let request = request.into_inner();
        let run = run_of(request.run_mode)?;
        let draft = draft(request.task)?;
        let record = with_draft(record, &draft).with("run", run.as_str());
        let Done {
            task, plan, waits, ..
        } = self
            .recorded(record, async move |work| work.create(draft, run).await)
            .await?;
        Ok(Response::new(proto::CreateTaskResponse {
            task: Some(self.shown(&task).await?),
            plan,
            waiting_run_id: id_of(waits),
        }))
    }

    async fn update_task(
        &self,
        request: Request<proto::UpdateTaskRequest>,
    ) -> Result<Response<proto::UpdateTaskResponse>, Status> {
        let record = record(&request, AuditAction::UpdateTask, &request.get_ref().name);
        let approves = rights(&request).approves;
        let request = request.into_inner();
        let run = run_of(request.run_mode)?;
        let name = known_name(&request.name)?;
        let (enabled, approve) = (request.enabled, request.approve);
        let key = key_of(&request.idempotency_key)?;
        if !approve.is_empty() && !approves {
            return Err(Status::permission_denied(
                "the approval of an effect needs the right approve",
            ));
        }
        let record = record.with("run", run.as_str());
        let record = match &*approve {
            "" => record,
            effect => record.with("approve", effect),
        };
        let record = match enabled {
            Some(enabled) => record.with("enabled", &enabled),
            None => record,
        };
        let done = self
            .recorded(record, async move |work| {
                work.update(&name, enabled, (run, key), &approve).await
            })
            .await?;
        Ok(Response::new(proto::UpdateTaskResponse {
            task: Some(self.shown(&done.task).await?),
            plan: done.plan,
            waiting_run_id: id_of(done.waits),
            requested_run_id: id_of(done.requested),
        }))
    }

    async fn replace_task(
        &self,
        request: Request<proto::ReplaceTaskRequest>,
    ) -> Result<Response<proto::ReplaceTaskResponse>, Status> {
        let record = record(&request, AuditAction::ReplaceTask, &request.get_ref().name);
        let request = request.into_inner();
        let run = run_of(request.run_mode)?;
        let name = known_name(&request.name)?;
        let draft = draft(request.task)?;
        let revision = request.revision;
        let record = with_draft(record, &draft).with("run", run.as_str());
        let record = record.with("revision", &revision);
        let releases = request.release;
        let record = record.with("release", &releases);
        let done = self
            .recorded(record, async move |work| {
                work.replace(&name, draft, revision, (run, releases)).await
            })
            .await?;
        Ok(Response::new(proto::ReplaceTaskResponse {
            task: Some(self.shown(&done.task).await?),
            held: done.held.unwrap_or_default(),
            waiting_run_id: id_of(done.waits),
            requested_run_id: id_of(done.requested),
        }))
    }

    async fn delete_task(
        &self,
        request: Request<proto::DeleteTaskRequest>,
    ) -> Result<Response<proto::DeleteTaskResponse>, Status> {
        let record = record(&request, AuditAction::DeleteTask, &request.get_ref().name);
        let request = request.into_inner();
        let name = known_name(&request.name)?;
        let mode = mode_of(request.mode)?;
        let record = record.with("infrastructure", mode.as_str());
        self.recorded(record, async move |work| work.delete(&name, mode).await)
            .await?;
        Ok(Response::new(proto::DeleteTaskResponse {}))
    }

    async fn plan_task_destruction(
        &self,
        request: Request<proto::PlanTaskDestructionRequest>,
    ) -> Result<Response<proto::PlanTaskDestructionResponse>, Status> {
        let name = known_name(&request.get_ref().name)?;
        let key = key_of(&request.get_ref().idempotency_key)?;
        let record = record(&request, AuditAction::PlanDestruction, name.as_str());
        let plan = self
            .recorded(record, async move |work| {
                work.plan_destruction(&name, key).await
            })
            .await?;
        Ok(Response::new(proto::PlanTaskDestructionResponse { plan }))
    }

    async fn release_task(
        &self,
        request: Request<proto::ReleaseTaskRequest>,
    ) -> Result<Response<proto::ReleaseTaskResponse>, Status> {
        let record = record(&request, AuditAction::ReleaseTask, &request.get_ref().name);
        let request = request.into_inner();
        let name = known_name(&request.name)?;
        let seen = request.seen.map(|seen| {
            let losses = seen.losses.into_iter();
            losses.map(convert::loss_from_wire).collect::<Vec<_>>()
        });
        let held = self
            .recorded(record, async move |work| {
                work.release(&name, seen.as_deref()).await
            })
            .await?;
        Ok(Response::new(proto::ReleaseTaskResponse {
            hold: held.map(convert::blocked_to_wire),
        }))
    }

    async fn get_terraform_state(
        &self,
        request: Request<proto::GetTerraformStateRequest>,
    ) -> Result<Response<proto::GetTerraformStateResponse>, Status> {
        let name = known_name(&request.get_ref().name)?;
        let record = self.store.terraform_state(&name).await.or_status()?;
        let record = record.ok_or_else(|| unknown_task(name.as_str()))?;
        Ok(Response::new(proto::GetTerraformStateResponse {
            state: Some(convert::state_record_to_wire(record)),
        }))
    }

    async fn decide_terraform_state(
        &self,
        request: Request<proto::DecideTerraformStateRequest>,
    ) -> Result<Response<proto::DecideTerraformStateResponse>, Status> {
        let record = record(&request, AuditAction::DecideState, &request.get_ref().name);
        let request = request.into_inner();
        let name = known_name(&request.name)?;
        let decision = convert::state_decision_from_wire(request.decision)?;
        let record = match &decision {
            StateDecision::Keep(keep) => record.with("keep", keep.as_str()),
            StateDecision::From(earlier) => record.with("from", earlier),
        };
        let record = self
            .recorded(record, async move |work| {
                work.decide_state(&name, &decision).await
            })
            .await?;
        Ok(Response::new(proto::DecideTerraformStateResponse {
            state: Some(convert::state_record_to_wire(record)),
        }))
    }

    async fn explain_task(
        &self,
        request: Request<proto::ExplainTaskRequest>,
    ) -> Result<Response<proto::ExplainTaskResponse>, Status> {
        let request = request.into_inner();
        let name = known_name(&request.name)?;
        let visible = visible_tasks(request.visible_tasks)?;
        let shown = (&visible, true);
        let explanation = explain(&*self.store, &name, self.leadership, &*self.clock, shown);
        let explanation = explanation.await.or_status()?;
        let explanation = explanation.ok_or_else(|| unknown_task(name.as_str()))?;
        Ok(Response::new(proto::ExplainTaskResponse {
            explanation: Some(explanation),
        }))
    }
}

impl TaskEndpoint {
    /// The task with the rule in force.
    async fn shown(&self, task: &StoredTask) -> Result<proto::Task, Status> {
        let rules = self.store.file_rules(Some(task.spec.name()));
        let rules = rules.await.or_status()?;
        Ok(task_to_wire(task, &rules))
    }

    /// Does the work of a call to its end, also if the caller goes away first, with a record of the call.
    async fn recorded<T: Send + 'static, F>(
        &self,
        record: AuditRecord,
        work: impl FnOnce(TaskCommands) -> F,
    ) -> Result<T, Status>
    where
        F: Future<Output = Result<T, TaskRefusal>> + Send + 'static,
    {
        let recording = TaskCommands {
            store: self.store.recording(record.clone()),
            requested_by: Some(record.caller.to_string().into()),
            ..self.work.clone()
        };
        let (working, store) = (Box::pin(work(recording)), Arc::clone(&self.store));
        self.run_detached(async move {
            let done = working.await;
            if let Err(refusal) = &done {
                note(&store, record, refusal.outcome()).await;
            }
            done
        })
        .await
    }

    /// Runs a future to its end, also if the caller goes away first.
    async fn run_detached<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, TaskRefusal>> + Send + 'static,
    ) -> Result<T, Status> {
        match self.detached.spawn(call).await {
            Ok(done) => done.map_err(Status::from),
            Err(broken) => Err(TaskRefusal::Broken(broken.to_string()).into()),
        }
    }
}

fn task_to_wire(task: &StoredTask, rules: &FileRules) -> proto::Task {
    let rule = rules.of(&task.spec).in_force(task.spec.api_approval);
    let asks = rule != ApprovalRule::Never;
    proto::Task {
        approval: if asks { rule.as_str() } else { "" }.to_owned(),
        revision: task.revision,
        phase: convert::phase_to_wire(task.phase).into(),
        destruction_suspended: task.destruction_suspended,
        ..convert::task_from_spec(&task.spec, task.origin)
    }
}

/// A run on the wire; empty without one.
fn id_of(run: Option<RunId>) -> String {
    run.map(|run| run.to_string()).unwrap_or_default()
}

/// The key that a caller gives to its request; `None` if the caller gives none.
fn key_of(text: &str) -> Result<Option<RequestKey>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    let key = text.parse::<RequestKey>();
    let key = key.map_err(|invalid| TaskRefusal::Invalid(invalid.to_string()))?;
    Ok(Some(key))
}

/// An unknown mode is an error, because it might be a mode that changes nothing.
fn run_of(mode: i32) -> Result<Run, Status> {
    match proto::RunMode::try_from(mode) {
        Ok(proto::RunMode::Unspecified) => Ok(Run::Check),
        Ok(proto::RunMode::Now) => Ok(Run::Now),
        Ok(proto::RunMode::Inspect) => Ok(Run::Inspect),
        Ok(proto::RunMode::Request) => Ok(Run::Request),
        Err(unknown) => Err(TaskRefusal::Invalid(unknown.to_string()).into()),
    }
}

/// An unknown mode is an error, because it might be a mode that retains resources.
fn mode_of(mode: i32) -> Result<DeletionMode, Status> {
    match proto::DeletionMode::try_from(mode) {
        Ok(proto::DeletionMode::Unspecified) => Ok(DeletionMode::RetainUnlessDestroying),
        Ok(proto::DeletionMode::AsDeclared) => Ok(DeletionMode::AsDeclared),
        Ok(proto::DeletionMode::Retain) => Ok(DeletionMode::Retain),
        Err(unknown) => Err(TaskRefusal::Invalid(unknown.to_string()).into()),
    }
}

fn draft(task: Option<proto::Task>) -> Result<cts_core::TaskDraft, Status> {
    let invalid = |message: String| Status::from(TaskRefusal::Invalid(message));
    let task = task.ok_or_else(|| invalid("a task is needed".to_owned()))?;
    convert::draft_from_wire(task).map_err(|error| invalid(error.to_string()))
}

/// The record of a declaration. Values of variables may be secret.
fn with_draft(record: AuditRecord, draft: &cts_core::TaskDraft) -> AuditRecord {
    let variables: Vec<&str> = draft.variables.keys().map(String::as_str).collect();
    let record = match draft.approval {
        Some(rule) => record.with("approval", rule.as_str()),
        None => record,
    };
    record
        .with("module", &draft.module)
        .with("version", &draft.version)
        .with("enabled", &draft.enabled)
        .with("providers", &draft.providers.join(", "))
        .with("variables", &variables.join(", "))
}

/// A text that cannot be a name names no task.
fn known_name(text: &str) -> Result<TaskName, Status> {
    text.parse().map_err(|_no_name| unknown_task(text))
}
