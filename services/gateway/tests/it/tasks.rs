//! A task service over data in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use cts_proto::task::v1::task_service_server::TaskService;
use cts_proto::task::v1::{
    BufferPeriod, Condition, CreateTaskRequest, CreateTaskResponse, DecideTerraformStateRequest,
    DecideTerraformStateResponse, DeleteTaskRequest, DeleteTaskResponse, Event, ExplainTaskRequest,
    ExplainTaskResponse, GetTaskGridRequest, GetTaskGridResponse, GetTaskRequest, GetTaskResponse,
    GetTaskStateRequest, GetTaskStateResponse, GetTaskVersionRequest, GetTaskVersionResponse,
    GetTerraformStateRequest, GetTerraformStateResponse, ListCurrentStatesRequest,
    ListCurrentStatesResponse, ListTaskPageRequest, ListTaskPageResponse, ListTaskStatesRequest,
    ListTaskStatesResponse, ListTasksRequest, ListTasksResponse, PlanTaskDestructionRequest,
    PlanTaskDestructionResponse, ReleaseTaskRequest, ReleaseTaskResponse, ReplaceTaskRequest,
    ReplaceTaskResponse, ServicesCondition, Task, TaskOrigin, TaskState, TaskStatus,
    UpdateTaskRequest, UpdateTaskResponse, condition,
};
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};

use crate::current::CurrentAnswers;

/// Answers from its lists, one item in each part of a stream.
#[derive(Debug, Clone)]
pub(crate) struct MemoryTasks {
    pub(crate) tasks: Vec<Task>,
    pub(crate) states: Vec<TaskState>,
    /// The requested changes, in order.
    pub(crate) changes: Arc<Mutex<Vec<RequestedChange>>>,
    /// The version of the states; without one it differs with every call.
    pub(crate) version: Arc<Mutex<Option<String>>>,
    pub(crate) current: CurrentAnswers,
    /// Answered to every call instead.
    pub(crate) failure: Option<Status>,
    /// Answered first, one to each call.
    pub(crate) first: Arc<Mutex<VecDeque<Status>>>,
    /// Each call takes a permit before it answers.
    pub(crate) gate: Arc<Semaphore>,
    /// Gets a permit for each call that has come as far as the gate.
    pub(crate) arrivals: Arc<Semaphore>,
    /// The visible tasks of each request of an explanation.
    pub(crate) visible: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Default for MemoryTasks {
    fn default() -> Self {
        Self {
            tasks: Vec::new(),
            states: Vec::new(),
            changes: Arc::default(),
            version: Arc::default(),
            current: CurrentAnswers::default(),
            failure: None,
            first: Arc::default(),
            gate: Arc::new(Semaphore::new(Semaphore::MAX_PERMITS)),
            arrivals: Arc::new(Semaphore::new(0)),
            visible: Arc::default(),
        }
    }
}

type Parts<T> = tokio_stream::Iter<std::vec::IntoIter<Result<T, Status>>>;

fn parts<T>(items: impl IntoIterator<Item = T>) -> Response<Parts<T>> {
    let items: Vec<_> = items.into_iter().map(Ok).collect();
    Response::new(tokio_stream::iter(items))
}

fn shown(state: &TaskState, include_events: bool) -> TaskState {
    let mut state = state.clone();
    if !include_events {
        state.events.clear();
    }
    state
}

impl MemoryTasks {
    async fn enter(&self) -> Result<(), Status> {
        self.arrivals.add_permits(1);
        self.gate.acquire().await.unwrap().forget();
        if let Some(failure) = self.first.lock().unwrap().pop_front() {
            return Err(failure);
        }
        self.failure.clone().map_or(Ok(()), Err)
    }
}

#[tonic::async_trait]
impl TaskService for MemoryTasks {
    type ListTasksStream = Parts<ListTasksResponse>;
    type ListTaskStatesStream = Parts<ListTaskStatesResponse>;
    type ListCurrentStatesStream = Parts<ListCurrentStatesResponse>;

    async fn list_tasks(
        &self,
        _request: Request<ListTasksRequest>,
    ) -> Result<Response<Self::ListTasksStream>, Status> {
        self.enter().await?;
        let tasks = self.tasks.iter().cloned();
        Ok(parts(
            tasks.map(|task| ListTasksResponse { tasks: vec![task] }),
        ))
    }

    async fn get_task(
        &self,
        request: Request<GetTaskRequest>,
    ) -> Result<Response<GetTaskResponse>, Status> {
        self.enter().await?;
        let name = request.into_inner().name;
        let task = self.tasks.iter().find(|task| task.name == name).cloned();
        match task {
            Some(_) => Ok(Response::new(GetTaskResponse { task })),
            None => Err(Status::not_found("inner text")),
        }
    }

    async fn list_task_states(
        &self,
        request: Request<ListTaskStatesRequest>,
    ) -> Result<Response<Self::ListTaskStatesStream>, Status> {
        self.enter().await?;
        let request = request.into_inner();
        let filter = request.status();
        Ok(parts(
            self.states
                .iter()
                .filter(|state| filter == TaskStatus::Unspecified || filter == state.status())
                .map(|state| ListTaskStatesResponse {
                    states: vec![shown(state, request.include_events)],
                })
                .collect::<Vec<_>>(),
        ))
    }

    async fn list_current_states(
        &self,
        request: Request<ListCurrentStatesRequest>,
    ) -> Result<Response<Self::ListCurrentStatesStream>, Status> {
        self.enter().await?;
        Ok(parts([self
            .current
            .next(request.into_inner(), &self.states)]))
    }

    async fn list_task_page(
        &self,
        request: Request<ListTaskPageRequest>,
    ) -> Result<Response<ListTaskPageResponse>, Status> {
        self.enter().await?;
        let page = self.current.page(request.into_inner(), &self.states);
        Ok(Response::new(page))
    }

    async fn get_task_grid(
        &self,
        request: Request<GetTaskGridRequest>,
    ) -> Result<Response<GetTaskGridResponse>, Status> {
        self.enter().await?;
        let grid = self.current.grid(request.into_inner(), &self.states);
        Ok(Response::new(grid))
    }

    async fn get_task_version(
        &self,
        _request: Request<GetTaskVersionRequest>,
    ) -> Result<Response<GetTaskVersionResponse>, Status> {
        let version = self.version.lock().unwrap().clone();
        let version = version.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        Ok(Response::new(GetTaskVersionResponse { version }))
    }

    async fn get_task_state(
        &self,
        request: Request<GetTaskStateRequest>,
    ) -> Result<Response<GetTaskStateResponse>, Status> {
        self.enter().await?;
        let request = request.into_inner();
        match self
            .states
            .iter()
            .find(|state| state.task_name == request.name)
        {
            Some(state) => Ok(Response::new(GetTaskStateResponse {
                state: Some(shown(state, request.include_events)),
            })),
            None => Err(Status::not_found("inner text")),
        }
    }

    async fn create_task(
        &self,
        request: Request<CreateTaskRequest>,
    ) -> Result<Response<CreateTaskResponse>, Status> {
        self.enter().await?;
        self.created(&request.into_inner()).map(Response::new)
    }

    async fn update_task(
        &self,
        request: Request<UpdateTaskRequest>,
    ) -> Result<Response<UpdateTaskResponse>, Status> {
        self.enter().await?;
        self.updated(&request.into_inner()).map(Response::new)
    }

    async fn replace_task(
        &self,
        request: Request<ReplaceTaskRequest>,
    ) -> Result<Response<ReplaceTaskResponse>, Status> {
        self.enter().await?;
        self.replaced(request.into_inner()).map(Response::new)
    }

    async fn delete_task(
        &self,
        request: Request<DeleteTaskRequest>,
    ) -> Result<Response<DeleteTaskResponse>, Status> {
        self.enter().await?;
        self.deleted(&request.into_inner()).map(Response::new)
    }

    async fn plan_task_destruction(
        &self,
        request: Request<PlanTaskDestructionRequest>,
    ) -> Result<Response<PlanTaskDestructionResponse>, Status> {
        self.enter().await?;
        self.destruction(&request.into_inner()).map(Response::new)
    }

    async fn release_task(
        &self,
        request: Request<ReleaseTaskRequest>,
    ) -> Result<Response<ReleaseTaskResponse>, Status> {
        self.enter().await?;
        self.released(&request.into_inner()).map(Response::new)
    }

    async fn get_terraform_state(
        &self,
        request: Request<GetTerraformStateRequest>,
    ) -> Result<Response<GetTerraformStateResponse>, Status> {
        self.enter().await?;
        let state = Some(self.terraform_state(&request.into_inner().name)?);
        Ok(Response::new(GetTerraformStateResponse { state }))
    }

    async fn decide_terraform_state(
        &self,
        request: Request<DecideTerraformStateRequest>,
    ) -> Result<Response<DecideTerraformStateResponse>, Status> {
        self.enter().await?;
        self.decided(&request.into_inner()).map(Response::new)
    }

    async fn explain_task(
        &self,
        request: Request<ExplainTaskRequest>,
    ) -> Result<Response<ExplainTaskResponse>, Status> {
        self.enter().await?;
        let request = request.into_inner();
        let name = request.name;
        if !self.tasks.iter().any(|task| task.name == name) {
            return Err(Status::not_found("inner text"));
        }
        self.visible.lock().unwrap().push(request.visible_tasks);
        let explanation = crate::run_answers::explanation(&name);
        Ok(Response::new(ExplainTaskResponse {
            explanation: Some(explanation),
        }))
    }
}

/// A change requested from the scheduler.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RequestedChange {
    Create(CreateTaskRequest),
    Update(UpdateTaskRequest),
    Replace(ReplaceTaskRequest),
    Delete(DeleteTaskRequest),
    Release(ReleaseTaskRequest),
    PlanDestruction(PlanTaskDestructionRequest),
    DecideState(DecideTerraformStateRequest),
}

/// Three tasks: `edge-lb` failed once after a success, `fw-sync` never ran, `dns` is well.
pub(crate) fn three_tasks() -> MemoryTasks {
    MemoryTasks {
        tasks: vec![edge_lb(), fw_sync(), dns()],
        // Not sorted: the order of names is promised to clients whatever arrives.
        states: vec![
            state("edge-lb", TaskStatus::Errored, true, "bigip.east", 2),
            state("fw-sync", TaskStatus::Unknown, false, "panos", 0),
            state("dns", TaskStatus::Successful, true, "dns", 1),
        ],
        ..MemoryTasks::default()
    }
}

fn edge_lb() -> Task {
    Task {
        name: "edge-lb".into(),
        description: "keeps <the> pool & more current".into(),
        enabled: true,
        module: "acme/lb/cts".into(),
        version: "2.1.0".into(),
        providers: vec!["bigip.east".into()],
        condition: Some(Condition {
            kind: Some(condition::Kind::Services(ServicesCondition {
                names: vec!["api".into(), "web".into()],
                datacenter: "dc1".into(),
                namespace: "ns".into(),
                filter: "Service.Port > 80".into(),
                cts_user_defined_meta: BTreeMap::from([("team".into(), "edge".into())]),
                use_as_module_input: true,
                ..ServicesCondition::default()
            })),
        }),
        variables: BTreeMap::from([
            ("region".into(), "\"eu-west\"".into()),
            ("replicas".into(), "3".into()),
        ]),
        buffer_period: Some(BufferPeriod {
            enabled: Some(true),
            min: Some(prost_types::Duration {
                seconds: 1,
                nanos: 500_000_000,
            }),
            max: Some(prost_types::Duration {
                seconds: 90,
                nanos: 0,
            }),
        }),
        origin: TaskOrigin::Config.into(),
        revision: 3,
        ..Task::default()
    }
}

fn fw_sync() -> Task {
    Task {
        name: "fw-sync".into(),
        module: "./fw".into(),
        condition: Some(Condition {
            kind: Some(condition::Kind::Services(ServicesCondition {
                names: vec!["web".into()],
                ..ServicesCondition::default()
            })),
        }),
        lists_services: true,
        buffer_period: Some(BufferPeriod::default()),
        ..Task::default()
    }
}

/// Without a condition and everything else that may be absent.
fn dns() -> Task {
    Task {
        name: "dns".into(),
        enabled: true,
        module: "acme/dns/cts".into(),
        condition: Some(Condition { kind: None }),
        ..Task::default()
    }
}

fn state(name: &str, status: TaskStatus, enabled: bool, provider: &str, events: u32) -> TaskState {
    TaskState {
        task_name: name.into(),
        status: status.into(),
        enabled,
        providers: vec![provider.into()],
        event_count: events,
        events: (0..events)
            .map(|age| {
                event(
                    name,
                    provider,
                    i64::from(age),
                    status != TaskStatus::Successful,
                )
            })
            .collect(),
        ..TaskState::default()
    }
}

fn event(name: &str, provider: &str, age: i64, is_errored: bool) -> Event {
    let failed = is_errored && age == 0;
    let time = |seconds: i64, nanos| {
        Some(prost_types::Timestamp {
            seconds: 1_770_110_130 - 3600 * age + seconds,
            nanos,
        })
    };
    Event {
        id: format!("0a3ad1de-2f7b-7b9f-0c55-6dd07f3d8f1{age}"),
        task_name: name.into(),
        run_id: "0197a000-0000-7000-8000-000000000000".into(),
        success: !failed,
        start_time: time(0, 123_456_789),
        end_time: time(12, if age == 0 { 500_000_000 } else { 0 }),
        error: failed.then(|| "could not apply: exit status 1\n-> \"x\"".into()),
        providers: vec![provider.into()],
        source: "/srv/modules/edge".into(),
        ..Event::default()
    }
}
