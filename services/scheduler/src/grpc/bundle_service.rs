//! `cts.bundle.v1.BundleService`: packed modules for workers.

use std::pin::Pin;
use std::sync::Arc;

use cts_core::{Digest, RunInput};
use cts_proto::bundle::v1 as proto;
use cts_proto::bundle::v1::bundle_service_server::BundleService;
use cts_rpc::CHUNK_BYTES;
use cts_store::Store;
use futures::Stream;
use tonic::{Request, Response, Status};

use crate::grpc::lease_proofs::{Held, LeaseProofs};
use crate::grpc::run_service::inputs::not_of_lease;
use crate::status::OrStatus as _;

#[derive(Debug)]
pub(crate) struct BundleEndpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) proofs: LeaseProofs,
}

impl BundleEndpoint {
    /// Whether the module of the leased run's task is in this bundle.
    async fn is_of_lease(&self, held: &Held, bundle: Digest) -> Result<bool, Status> {
        let input = self.store.held_input(held.run, &held.holder, held.epoch);
        let input = self.store.input(input.await.or_status()?);
        let contents = input.await.or_status()?.unwrap_or_default();
        let head = self.store.contents(contents.get(..1).unwrap_or_default());
        let head = head.await.or_status()?.into_iter().next();
        let definition = head.and_then(|head| RunInput::definition_in(&head.bytes).ok());
        let reference = definition.and_then(|definition| definition.bundle);
        Ok(reference.is_some_and(|reference| reference.hash == bundle))
    }
}

type Parts = Pin<Box<dyn Stream<Item = Result<proto::GetBundleResponse, Status>> + Send>>;

#[tonic::async_trait]
impl BundleService for BundleEndpoint {
    type GetBundleStream = Parts;

    async fn get_bundle(
        &self,
        request: Request<proto::GetBundleRequest>,
    ) -> Result<Response<Self::GetBundleStream>, Status> {
        let (metadata, _, request) = request.into_parts();
        let hash = request.hash;
        let digest = hash
            .parse()
            .map_err(|_no_digest| Status::invalid_argument("not a digest"))?;
        if let Some(held) = self.proofs.proven(&metadata)?
            && !self.is_of_lease(&held, digest).await?
        {
            return Err(not_of_lease(&held));
        }
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
