//! `cts.task.v1.TaskService`.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;

use cts_core::TaskName;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::task_service_server::TaskService;
use cts_rpc::{chunks, convert};
use cts_store::{Store, TaskState};
use futures::Stream;
use tokio_stream::StreamExt as _;
use tonic::{Request, Response, Status};

use crate::status::store_failure;

/// See the module.
#[derive(Debug)]
pub(crate) struct TaskEndpoint {
    pub(crate) store: Arc<dyn Store>,
}

type Parts<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl TaskService for TaskEndpoint {
    type ListTasksStream = Parts<proto::ListTasksResponse>;
    type ListTaskStatesStream = Parts<proto::ListTaskStatesResponse>;

    async fn list_tasks(
        &self,
        _request: Request<proto::ListTasksRequest>,
    ) -> Result<Response<Self::ListTasksStream>, Status> {
        let tasks = self
            .store
            .tasks()
            .await
            .map_err(|error| store_failure(&error))?;
        let tasks = tasks
            .into_iter()
            .map(|task| convert::task_from_spec(&task.spec, task.origin));
        let parts = chunks(tasks.collect::<Vec<_>>(), prost::Message::encoded_len)
            .map(|tasks| Ok(proto::ListTasksResponse { tasks }));
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }

    async fn get_task(
        &self,
        request: Request<proto::GetTaskRequest>,
    ) -> Result<Response<proto::GetTaskResponse>, Status> {
        let name = known_name(&request.get_ref().name)?;
        let task = self
            .store
            .task(&name)
            .await
            .map_err(|error| store_failure(&error))?;
        let task = task.ok_or_else(|| unknown_task(name.as_str()))?;
        let task = convert::task_from_spec(&task.spec, task.origin);
        Ok(Response::new(proto::GetTaskResponse { task: Some(task) }))
    }

    async fn list_task_states(
        &self,
        request: Request<proto::ListTaskStatesRequest>,
    ) -> Result<Response<Self::ListTaskStatesStream>, Status> {
        let request = request.into_inner();
        let status = convert::task_status_from_wire(request.status());
        let states = self
            .store
            .task_states(status)
            .await
            .map_err(|error| store_failure(&error))?;
        let states = states
            .into_iter()
            .map(move |state| wire(state, request.include_events));
        let parts = chunks(states, prost::Message::encoded_len)
            .map(|states| Ok(proto::ListTaskStatesResponse { states }));
        Ok(Response::new(Box::pin(
            tokio_stream::iter(parts).map(|part| part),
        )))
    }

    async fn get_task_state(
        &self,
        request: Request<proto::GetTaskStateRequest>,
    ) -> Result<Response<proto::GetTaskStateResponse>, Status> {
        let request = request.into_inner();
        let name = known_name(&request.name)?;
        let state = self
            .store
            .task_state(&name)
            .await
            .map_err(|error| store_failure(&error))?;
        let state = state.ok_or_else(|| unknown_task(name.as_str()))?;
        let state = wire(state, request.include_events);
        Ok(Response::new(proto::GetTaskStateResponse {
            state: Some(state),
        }))
    }
}

/// A text that cannot be a name names no task.
fn known_name(text: &str) -> Result<TaskName, Status> {
    text.parse().map_err(|_no_name| unknown_task(text))
}

fn unknown_task(name: &str) -> Status {
    Status::not_found(format!("there is no task {name:?}"))
}

fn wire(state: TaskState, include_events: bool) -> proto::TaskState {
    // Deprecated members: what the events name, or the task where there is no event.
    let distinct = |list: fn(&cts_core::EventConfig) -> &Vec<String>| -> Vec<String> {
        let all: BTreeSet<_> = state
            .events
            .iter()
            .flat_map(|event| list(&event.config))
            .collect();
        all.into_iter().cloned().collect()
    };
    let (providers, services) = if state.events.is_empty() {
        (state.providers, Vec::new())
    } else {
        (
            distinct(|config| &config.providers),
            distinct(|config| &config.services),
        )
    };
    proto::TaskState {
        task_name: state.task.into(),
        status: convert::task_status_to_wire(state.status).into(),
        enabled: state.enabled,
        providers,
        services,
        event_count: u32::try_from(state.events.len()).unwrap_or(u32::MAX),
        events: if include_events {
            state
                .events
                .into_iter()
                .map(convert::event_to_wire)
                .collect()
        } else {
            Vec::new()
        },
    }
}
