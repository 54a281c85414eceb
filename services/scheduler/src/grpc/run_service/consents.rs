//! Consents that change, for those who follow runs.

use std::sync::Arc;

use cts_proto::run::v1::{FollowRunsRequest, FollowRunsResponse};
use cts_rpc::convert;
use futures::{Stream, StreamExt as _};
use tokio_stream::wrappers::BroadcastStream;
use tonic::Status;

use super::RunEndpoint;
use crate::grpc::approval_service::approval_to_wire;

impl RunEndpoint {
    /// Effects that begin to wait for consent, or are decided, from now on; none unless the request has them.
    pub(super) fn consents(
        &self,
        request: &FollowRunsRequest,
    ) -> impl Stream<Item = Result<FollowRunsResponse, Status>> + Send + use<> {
        let (store, clock) = (Arc::clone(&self.store), Arc::clone(&self.clock));
        let only: Arc<str> = request.task_name.as_str().into();
        let is_included = request.include_approvals;
        let changes = BroadcastStream::new(self.notifier.approvals.subscribe());
        changes.filter_map(move |change| {
            let (store, clock) = (Arc::clone(&store), Arc::clone(&clock));
            let only = Arc::clone(&only);
            async move {
                if !is_included {
                    return None;
                }
                let (run, effect) = match change {
                    Ok(change) => change,
                    Err(lagged) => return Some(Err(Status::data_loss(lagged.to_string()))),
                };
                // A consent that is withdrawn by now, or that cannot be read, is told by the list alone.
                let approval = store.approval_of(run, Some(&effect)).await.ok().flatten()?;
                let is_followed = only.is_empty() || *only == *approval.task.as_str();
                is_followed.then(|| {
                    Ok(FollowRunsResponse {
                        run_id: run.to_string(),
                        task_name: approval.task.to_string(),
                        at: Some(convert::timestamp_to_wire(clock.now())),
                        approval: Some(approval_to_wire(approval)),
                        ..FollowRunsResponse::default()
                    })
                })
            }
        })
    }
}
