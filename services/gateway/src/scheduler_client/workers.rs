//! Orders to workers.

use cts_proto::worker::v1::DrainWorkerRequest;
use cts_proto::worker::v1::worker_service_client::WorkerServiceClient;
use tonic::Code;
use tonic::transport::Channel;

use super::call::{CALL_LIMIT, CallError, ask};
use super::on_behalf::OnBehalf;

/// Calls the worker service; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct WorkerClient {
    client: WorkerServiceClient<Channel>,
}

impl WorkerClient {
    pub(crate) fn new(client: WorkerServiceClient<Channel>) -> Self {
        Self { client }
    }

    /// Orders a worker to finish its runs and to leave; may be repeated. `by` is for the audit records.
    pub(crate) async fn drain(&self, worker: &str, by: &OnBehalf) -> Result<(), CallError> {
        let answer = ask(CALL_LIMIT, || {
            let mut client = self.client.clone();
            let request = by.request(DrainWorkerRequest {
                worker_id: worker.to_owned(),
            });
            async move { client.drain_worker(request).await }
        });
        match answer.await {
            Ok(_drains) => Ok(()),
            Err(CallError::Call(status)) if status.code() == Code::NotFound => {
                Err(CallError::NoSuchWorker(worker.to_owned()))
            }
            Err(error) => Err(error),
        }
    }
}
