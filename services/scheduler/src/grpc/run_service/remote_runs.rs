//! Records of remote runs.

use cts_proto::run::v1 as proto;
use cts_rpc::{ConversionError, convert};
use tonic::Status;

use super::RunEndpoint;
use crate::grpc::status::OrStatus as _;
use crate::grpc::wire::holder;

impl RunEndpoint {
    pub(super) async fn record_remote(
        &self,
        request: proto::RecordRemoteRunRequest,
    ) -> Result<proto::RecordRemoteRunResponse, Status> {
        let run = convert::run_id(&request.run_id)?;
        let epoch = convert::lease_epoch(request.epoch)?;
        let holder = holder(request.worker_id)?;
        let remote = request.remote.ok_or(ConversionError::Missing {
            field: "RecordRemoteRunRequest.remote",
        })?;
        let remote = convert::remote_run_from_wire(remote)?;
        let recorded = self.store.record_remote_run(run, &holder, epoch, &remote);
        recorded.await.or_status()?;
        Ok(proto::RecordRemoteRunResponse {})
    }

    pub(super) async fn remote_runs(
        &self,
        request: proto::GetRemoteRunsRequest,
    ) -> Result<proto::GetRemoteRunsResponse, Status> {
        let run = convert::run_id(&request.run_id)?;
        let epoch = convert::lease_epoch(request.epoch)?;
        let holder = holder(request.worker_id)?;
        let runs = self.store.remote_runs(run, &holder, epoch).await;
        Ok(convert::remote_runs_to_wire(runs.or_status()?))
    }
}
