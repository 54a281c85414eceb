//! Calls of the task service.

use std::time::Duration;

use cts_core::TaskStatus;
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_rpc::ConversionError;
use cts_rpc::convert::task_status_to_wire;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Longest wait for a complete answer. Reads are answered from the store in milliseconds; what takes
/// longer than this will not come.
const CALL_LIMIT: Duration = Duration::from_secs(10);

/// The task service gave no answer that can be passed on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// It knows no task of that name.
    #[error("there is no task of that name")]
    NoSuchTask,
    /// It did not answer, or with an error.
    #[error("the call of the task service failed")]
    Call(#[source] Box<Status>),
    /// Its answer breaks the contract.
    #[error("the task service's answer cannot be understood")]
    Answer(#[from] ConversionError),
}

impl From<Status> for AskError {
    fn from(status: Status) -> Self {
        Self::Call(Box::new(status))
    }
}

/// Asks the task service; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct TaskQuestions {
    client: TaskServiceClient<Channel>,
}

impl TaskQuestions {
    pub(crate) fn new(client: TaskServiceClient<Channel>) -> Self {
        Self { client }
    }

    /// All tasks, in the order of the API.
    pub(crate) async fn tasks(&self) -> Result<Vec<proto::Task>, AskError> {
        let mut client = self.client.clone();
        limited(async move {
            let request = proto::ListTasksRequest {};
            let mut parts = client.list_tasks(request).await?.into_inner();
            let mut tasks = Vec::new();
            while let Some(part) = parts.message().await? {
                tasks.extend(part.tasks);
            }
            Ok(tasks)
        })
        .await
    }

    /// One task.
    pub(crate) async fn task(&self, name: String) -> Result<proto::Task, AskError> {
        let mut client = self.client.clone();
        let request = proto::GetTaskRequest { name };
        let answer = one(limited(async move { client.get_task(request).await }).await)?;
        answer
            .into_inner()
            .task
            .ok_or(AskError::Answer(missing("GetTaskResponse.task")))
    }

    /// The states of all tasks, or of those of one status, by name.
    pub(crate) async fn states(
        &self,
        status: Option<TaskStatus>,
        include_events: bool,
    ) -> Result<Vec<proto::TaskState>, AskError> {
        let mut client = self.client.clone();
        limited(async move {
            let request = proto::ListTaskStatesRequest {
                status: status
                    .map_or(proto::TaskStatus::Unspecified, task_status_to_wire)
                    .into(),
                include_events,
            };
            let mut parts = client.list_task_states(request).await?.into_inner();
            let mut states = Vec::new();
            while let Some(part) = parts.message().await? {
                states.extend(part.states);
            }
            Ok(states)
        })
        .await
    }

    /// The state of one task.
    pub(crate) async fn state(
        &self,
        name: String,
        include_events: bool,
    ) -> Result<proto::TaskState, AskError> {
        let mut client = self.client.clone();
        let request = proto::GetTaskStateRequest {
            name,
            include_events,
        };
        let answer = one(limited(async move { client.get_task_state(request).await }).await)?;
        answer
            .into_inner()
            .state
            .ok_or(AskError::Answer(missing("GetTaskStateResponse.state")))
    }
}

fn missing(field: &'static str) -> ConversionError {
    ConversionError::Missing { field }
}

async fn limited<T>(call: impl Future<Output = Result<T, Status>>) -> Result<T, AskError> {
    match timeout(CALL_LIMIT, call).await {
        Ok(answer) => Ok(answer?),
        Err(_elapsed) => Err(Status::deadline_exceeded("no complete answer in time").into()),
    }
}

/// A call that names a task may find none.
fn one<T>(answer: Result<T, AskError>) -> Result<T, AskError> {
    match answer {
        Err(AskError::Call(status)) if status.code() == Code::NotFound => Err(AskError::NoSuchTask),
        other => other,
    }
}
