//! A run service that only knows its queue.

use cts_proto::run::v1::run_service_server::RunService;
use cts_proto::run::v1::{
    AcquireRunRequest, AcquireRunResponse, CompleteRunRequest, CompleteRunResponse,
    FollowRunsRequest, FollowRunsResponse, GetQueueRequest, GetQueueResponse, GetRunInputRequest,
    GetRunInputResponse, GetRunRequest, GetRunResponse, RenewRunRequest, RenewRunResponse,
};
use tonic::{Request, Response, Status};

/// Refuses what a gateway does not ask.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryRuns {
    pub(crate) queue: GetQueueResponse,
}

fn not_for_a_gateway<T>() -> Result<Response<T>, Status> {
    Err(Status::permission_denied("a gateway has no business here"))
}

#[tonic::async_trait]
impl RunService for MemoryRuns {
    type GetRunInputStream = tokio_stream::Empty<Result<GetRunInputResponse, Status>>;
    type FollowRunsStream = tokio_stream::Empty<Result<FollowRunsResponse, Status>>;

    async fn acquire_run(
        &self,
        _request: Request<AcquireRunRequest>,
    ) -> Result<Response<AcquireRunResponse>, Status> {
        not_for_a_gateway()
    }

    async fn get_run_input(
        &self,
        _request: Request<GetRunInputRequest>,
    ) -> Result<Response<Self::GetRunInputStream>, Status> {
        not_for_a_gateway()
    }

    async fn renew_run(
        &self,
        _request: Request<RenewRunRequest>,
    ) -> Result<Response<RenewRunResponse>, Status> {
        not_for_a_gateway()
    }

    async fn complete_run(
        &self,
        _request: Request<CompleteRunRequest>,
    ) -> Result<Response<CompleteRunResponse>, Status> {
        not_for_a_gateway()
    }

    async fn follow_runs(
        &self,
        _request: Request<FollowRunsRequest>,
    ) -> Result<Response<Self::FollowRunsStream>, Status> {
        not_for_a_gateway()
    }

    async fn get_run(
        &self,
        _request: Request<GetRunRequest>,
    ) -> Result<Response<GetRunResponse>, Status> {
        not_for_a_gateway()
    }

    async fn get_queue(
        &self,
        _request: Request<GetQueueRequest>,
    ) -> Result<Response<GetQueueResponse>, Status> {
        Ok(Response::new(self.queue))
    }
}
