//! Questions about runs, and what is told of them as it happens.

use cts_proto::log::v1 as log;
use cts_proto::log::v1::log_service_client::LogServiceClient;
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

use super::{AskError, CALL_LIMIT, ask, missing};

/// Asks the run service and the log service; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct RunQuestions {
    runs: RunServiceClient<Channel>,
    logs: LogServiceClient<Channel>,
}

impl RunQuestions {
    pub(crate) fn new(runs: RunServiceClient<Channel>, logs: LogServiceClient<Channel>) -> Self {
        Self { runs, logs }
    }

    /// How much work waits.
    pub(crate) async fn queue(&self) -> Result<proto::GetQueueResponse, AskError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.runs.clone();
            async move { client.get_queue(proto::GetQueueRequest {}).await }
        })
        .await?;
        Ok(answer.into_inner())
    }

    /// A page of runs.
    pub(crate) async fn runs(
        &self,
        request: &proto::ListRunsRequest,
    ) -> Result<proto::ListRunsResponse, AskError> {
        let answer = ask(CALL_LIMIT, || {
            let (mut client, request) = (self.runs.clone(), request.clone());
            async move { client.list_runs(request).await }
        })
        .await;
        match answer {
            Ok(answer) => Ok(answer.into_inner()),
            Err(AskError::Call(status)) if status.code() == Code::InvalidArgument => {
                Err(AskError::NoSuchPage)
            }
            Err(error) => Err(error),
        }
    }

    /// One run.
    pub(crate) async fn run(&self, id: &str) -> Result<proto::Run, AskError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.runs.clone();
            let request = proto::GetRunRequest {
                run_id: id.to_owned(),
            };
            async move { client.get_run(request).await }
        })
        .await;
        one(answer)?
            .into_inner()
            .run
            .ok_or(AskError::Answer(missing("GetRunResponse.run")))
    }

    /// Changes of the runs of one task from now on, or of all if its name is empty.
    pub(crate) async fn follow(
        &self,
        task_name: &str,
    ) -> Result<Streaming<proto::FollowRunsResponse>, AskError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.runs.clone();
            let request = proto::FollowRunsRequest {
                task_name: task_name.to_owned(),
            };
            async move { client.follow_runs(request).await }
        })
        .await?;
        Ok(answer.into_inner())
    }

    /// The log of one run behind a position; as it grows, if it is followed.
    pub(crate) async fn log(
        &self,
        id: &str,
        after_position: u64,
        follow: bool,
    ) -> Result<Streaming<log::ReadLogResponse>, AskError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.logs.clone();
            let request = log::ReadLogRequest {
                run_id: id.to_owned(),
                after_position,
                follow,
            };
            async move { client.read_log(request).await }
        })
        .await;
        Ok(one(answer)?.into_inner())
    }
}

/// A call that names a run may find none. What is no id names none either.
fn one<T>(answer: Result<T, AskError>) -> Result<T, AskError> {
    match answer {
        Err(AskError::Call(status))
            if matches!(status.code(), Code::NotFound | Code::InvalidArgument) =>
        {
            Err(AskError::NoSuchRun)
        }
        other => other,
    }
}
