//! Questions about tasks.

use cts_core::callers::TaskPatterns;
use cts_core::{TaskDraft, TaskStatus};
use cts_proto::task::v1 as proto;
use cts_proto::task::v1::task_service_client::TaskServiceClient;
use cts_rpc::convert::{draft_from_wire, task_status_to_wire};
use prost::Message;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

use super::call::{CALL_LIMIT, CallError, ask, patterns, present};
use super::state_list::StateChanges;

/// A task as the scheduler has it.
#[derive(Debug)]
pub(crate) struct KnownTask {
    pub(crate) declared: TaskDraft,
    pub(crate) revision: u64,
    /// The destruction of its infrastructure was cancelled, and may go on.
    pub(crate) destruction_suspended: bool,
}

impl KnownTask {
    /// Converts the task in `field` of an answer.
    pub(super) fn of(task: Option<proto::Task>, field: &'static str) -> Result<Self, CallError> {
        let task = present(task, field)?;
        Ok(Self {
            revision: task.revision,
            destruction_suspended: task.destruction_suspended,
            declared: draft_from_wire(task)?,
        })
    }
}

/// Calls the task service; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct TaskClient {
    client: TaskServiceClient<Channel>,
    /// Most bytes of a list.
    longest: usize,
}

impl TaskClient {
    /// Lists with more than `longest` bytes on the wire are given up.
    pub(crate) fn new(client: TaskServiceClient<Channel>, longest: usize) -> Self {
        Self { client, longest }
    }

    /// All tasks, in the order of the API.
    pub(crate) async fn tasks(&self) -> Result<Vec<TaskDraft>, CallError> {
        let parts = ask(CALL_LIMIT, || {
            let mut client = self.client.clone();
            async move {
                let request = proto::ListTasksRequest {};
                let parts = client.list_tasks(request).await?;
                self.all(parts.into_inner()).await
            }
        });
        let tasks = parts.await??.into_iter().flat_map(|part| part.tasks);
        Ok(tasks.map(draft_from_wire).collect::<Result<_, _>>()?)
    }

    pub(crate) async fn task(&self, name: &str) -> Result<KnownTask, CallError> {
        let request = proto::GetTaskRequest {
            name: name.to_owned(),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.get_task(request))).await;
        KnownTask::of(one(answer, name)?.into_inner().task, "GetTaskResponse.task")
    }

    /// Why the task ran, or why it does not. Texts name only other tasks that are visible: `None` for all.
    pub(crate) async fn explanation(
        &self,
        name: &str,
        tasks: Option<&TaskPatterns>,
    ) -> Result<proto::Explanation, CallError> {
        let request = proto::ExplainTaskRequest {
            name: name.to_owned(),
            visible_tasks: patterns(tasks),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.explain_task(request))).await;
        present(
            one(answer, name)?.into_inner().explanation,
            "ExplainTaskResponse.explanation",
        )
    }

    /// Known data of the task's Terraform state.
    pub(crate) async fn terraform_state(
        &self,
        name: &str,
    ) -> Result<proto::KnownTerraformState, CallError> {
        let request = proto::GetTerraformStateRequest {
            name: name.to_owned(),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.get_terraform_state(request))).await;
        present(
            one(answer, name)?.into_inner().state,
            "GetTerraformStateResponse.state",
        )
    }

    /// A version that changes whenever a state may have changed.
    pub(crate) async fn version(&self) -> Result<String, CallError> {
        let request = proto::GetTaskVersionRequest {};
        let answer = ask(CALL_LIMIT, call!(self.client.get_task_version(request)));
        Ok(answer.await?.into_inner().version)
    }

    /// The states of all tasks, or of the tasks of one status, by name.
    pub(crate) async fn states(
        &self,
        status: Option<TaskStatus>,
        include_events: bool,
    ) -> Result<Vec<proto::TaskState>, CallError> {
        let status = status.map_or(proto::TaskStatus::Unspecified, task_status_to_wire);
        self.list_states(proto::ListTaskStatesRequest {
            status: status.into(),
            include_events,
        })
        .await
    }

    /// The states of tasks that have changed since one of these versions, or all states.
    pub(crate) async fn changed_states(
        &self,
        versions: Vec<String>,
    ) -> Result<StateChanges, CallError> {
        let request = proto::ListCurrentStatesRequest { versions };
        let parts = ask(CALL_LIMIT, || {
            let (mut client, request) = (self.client.clone(), request.clone());
            async move {
                let parts = client.list_current_states(request).await?;
                self.all(parts.into_inner()).await
            }
        });
        let mut changes = StateChanges::default();
        for part in parts.await?? {
            changes.version = part.version;
            changes.after = part.after;
            changes.states.extend(part.states);
            changes.gone.extend(part.gone);
        }
        Ok(changes)
    }

    /// A page of the states of `visible` tasks; `None` for all tasks.
    pub(crate) async fn page(
        &self,
        mut request: proto::ListTaskPageRequest,
        visible: Option<&TaskPatterns>,
    ) -> Result<proto::ListTaskPageResponse, CallError> {
        request.visible_tasks = patterns(visible);
        let answer = ask(CALL_LIMIT, call!(self.client.list_task_page(request))).await;
        let answer = answer.map_err(|error| error.or_too_old("pages of tasks"))?;
        Ok(answer.into_inner())
    }

    /// One character for the state of each `visible` task; `None` for all tasks.
    pub(crate) async fn grid(
        &self,
        visible: Option<&TaskPatterns>,
    ) -> Result<proto::GetTaskGridResponse, CallError> {
        let request = proto::GetTaskGridRequest {
            visible_tasks: patterns(visible),
        };
        let answer = ask(CALL_LIMIT, call!(self.client.get_task_grid(request))).await;
        let answer = answer.map_err(|error| error.or_too_old("the grid of tasks"))?;
        Ok(answer.into_inner())
    }

    /// Refuses a list that has more bytes on the wire than a list may have.
    pub(crate) fn check_length(&self, bytes: usize) -> Result<(), CallError> {
        if bytes > self.longest {
            let limit = self.longest;
            return Err(CallError::TooLarge { limit });
        }
        Ok(())
    }

    async fn list_states(
        &self,
        request: proto::ListTaskStatesRequest,
    ) -> Result<Vec<proto::TaskState>, CallError> {
        let parts = ask(CALL_LIMIT, || {
            let mut client = self.client.clone();
            async move {
                let parts = client.list_task_states(request).await?;
                self.all(parts.into_inner()).await
            }
        });
        let parts = parts.await??.into_iter();
        Ok(parts.flat_map(|part| part.states).collect())
    }

    /// All parts of a list, unless it is too long.
    async fn all<P: Message>(
        &self,
        mut parts: Streaming<P>,
    ) -> Result<Result<Vec<P>, CallError>, Status> {
        let mut bytes = 0;
        let mut list = Vec::new();
        while let Some(part) = parts.message().await? {
            bytes += part.encoded_len();
            if let Err(error) = self.check_length(bytes) {
                return Ok(Err(error));
            }
            list.push(part);
        }
        Ok(Ok(list))
    }

    /// The state of one task.
    pub(crate) async fn state(
        &self,
        name: &str,
        include_events: bool,
    ) -> Result<proto::TaskState, CallError> {
        let request = proto::GetTaskStateRequest {
            name: name.to_owned(),
            include_events,
        };
        let answer = ask(CALL_LIMIT, call!(self.client.get_task_state(request))).await;
        present(
            one(answer, name)?.into_inner().state,
            "GetTaskStateResponse.state",
        )
    }
}

/// A call that names a task may find none.
fn one<T>(answer: Result<T, CallError>, name: &str) -> Result<T, CallError> {
    match answer {
        Err(CallError::Call(status)) if status.code() == Code::NotFound => {
            Err(CallError::NoSuchTask(name.to_owned()))
        }
        other => other,
    }
}
