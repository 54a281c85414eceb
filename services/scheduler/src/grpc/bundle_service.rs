//! `cts.bundle.v1.BundleService`: packed modules for workers.

use std::pin::Pin;
use std::sync::Arc;

use cts_proto::bundle::v1 as proto;
use cts_proto::bundle::v1::bundle_service_server::BundleService;
use cts_rpc::CHUNK_BYTES;
use cts_store::Store;
use futures::Stream;
use tonic::{Request, Response, Status};

use crate::grpc::status::OrStatus as _;

#[derive(Debug)]
pub(crate) struct BundleEndpoint {
    pub(crate) store: Arc<dyn Store>,
}

type Parts = Pin<Box<dyn Stream<Item = Result<proto::GetBundleResponse, Status>> + Send>>;

#[tonic::async_trait]
impl BundleService for BundleEndpoint {
    type GetBundleStream = Parts;

    async fn get_bundle(
        &self,
        request: Request<proto::GetBundleRequest>,
    ) -> Result<Response<Self::GetBundleStream>, Status> {
        let hash = request.into_inner().hash;
        let digest = hash
            .parse()
            .map_err(|_no_digest| Status::invalid_argument("not a digest"))?;
        let bundle = self.store.bundle(digest).await.or_status()?;
        let bundle =
            bundle.ok_or_else(|| Status::not_found(format!("there is no bundle {hash}")))?;
        let parts: Vec<_> = bundle
            .chunks(CHUNK_BYTES)
            .map(|chunk| {
                Ok(proto::GetBundleResponse {
                    chunk: chunk.to_vec(),
                })
            })
            .collect();
        Ok(Response::new(Box::pin(tokio_stream::iter(parts))))
    }
}
