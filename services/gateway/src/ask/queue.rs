//! The question how much work waits.

use cts_proto::run::v1 as proto;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use tonic::transport::Channel;

use super::{AskError, CALL_LIMIT, ask};

/// Asks the run service; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct QueueQuestions {
    client: RunServiceClient<Channel>,
}

impl QueueQuestions {
    pub(crate) fn new(client: RunServiceClient<Channel>) -> Self {
        Self { client }
    }

    /// How much work waits.
    pub(crate) async fn queue(&self) -> Result<proto::GetQueueResponse, AskError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.client.clone();
            async move { client.get_queue(proto::GetQueueRequest {}).await }
        })
        .await?;
        Ok(answer.into_inner())
    }
}
