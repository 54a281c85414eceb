//! Records of remote runs.

use cts_proto::run::v1 as proto;
use cts_rpc::{ConversionError, convert};
use tonic::{Request, Status};

use super::RunEndpoint;
use crate::grpc::lease_proofs::Held;
use crate::status::OrStatus as _;

impl RunEndpoint {
    pub(super) async fn record_remote(
        &self,
        request: Request<proto::RecordRemoteRunRequest>,
    ) -> Result<proto::RecordRemoteRunResponse, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held { run, holder, epoch } =
            self.proofs
                .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
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
        request: Request<proto::GetRemoteRunsRequest>,
    ) -> Result<proto::GetRemoteRunsResponse, Status> {
        let (metadata, _, request) = request.into_parts();
        let Held { run, holder, epoch } =
            self.proofs
                .held(&metadata, &request.run_id, request.worker_id, request.epoch)?;
        let runs = self.store.remote_runs(run, &holder, epoch).await;
        Ok(convert::remote_runs_to_wire(runs.or_status()?))
    }
}
