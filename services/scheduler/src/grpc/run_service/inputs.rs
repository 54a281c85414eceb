//! Inputs and their contents for workers.

use cts_core::{Content, Digest};
use cts_proto::run::v1 as proto;
use cts_rpc::CHUNK_BYTES;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use tonic::{Request, Status};

use super::{Parts, RunEndpoint};
use crate::grpc::lease_proofs::Held;
use crate::grpc::read_ahead::read_ahead;
use crate::status::OrStatus as _;

/// Contents in one request.
const MOST_CONTENTS: usize = 1024;

impl RunEndpoint {
    pub(super) async fn input(
        &self,
        request: Request<proto::GetRunInputRequest>,
    ) -> Result<Parts<proto::GetRunInputResponse>, Status> {
        let hash = digest(&request.get_ref().input_hash)?;
        if let Some(held) = self.proofs.proven(request.metadata())? {
            let input = self.store.held_input(held.run, &held.holder, held.epoch);
            if input.await.or_status()? != hash {
                return Err(not_of_lease(&held));
            }
        }
        let input = self.store.input(hash).await.or_status()?;
        let contents =
            input.ok_or_else(|| Status::not_found(format!("there is no input {hash}")))?;
        let content_hashes = contents.iter().map(Digest::to_string).collect();
        let answer = proto::GetRunInputResponse { content_hashes };
        Ok(Box::pin(tokio_stream::once(Ok(answer))))
    }

    pub(super) async fn contents(
        &self,
        request: Request<proto::GetInputContentsRequest>,
    ) -> Result<Parts<proto::GetInputContentsResponse>, Status> {
        let (metadata, _, request) = request.into_parts();
        if request.hashes.len() > MOST_CONTENTS {
            return Err(Status::invalid_argument(format!(
                "more than {MOST_CONTENTS} contents"
            )));
        }
        let hashes: Vec<Digest> = request
            .hashes
            .iter()
            .map(|hash| digest(hash))
            .collect::<Result<_, _>>()?;
        if let Some(held) = self.proofs.proven(&metadata)? {
            let input = self.store.held_input(held.run, &held.holder, held.epoch);
            let stored = self.store.input(input.await.or_status()?);
            match stored.await.or_status()? {
                Some(contents) if hashes.iter().all(|hash| contents.contains(hash)) => {}
                _ => return Err(not_of_lease(&held)),
            }
        }
        let endpoint = self.clone();
        // Contents are read one by one, because each may be large.
        let contents = stream::iter(hashes).then(move |hash| {
            let endpoint = endpoint.clone();
            async move { endpoint.content(&hash).await }
        });
        let parts = contents.map_ok(|content| {
            let hash = content.hash.to_string();
            let parts = chunks(content.bytes).map(move |chunk| {
                Ok(proto::GetInputContentsResponse {
                    hash: hash.clone(),
                    chunk,
                })
            });
            stream::iter(parts.collect::<Vec<_>>())
        });
        Ok(Box::pin(read_ahead(parts.try_flatten())))
    }

    async fn content(&self, hash: &Digest) -> Result<Content, Status> {
        if let Some(content) = self.recent_inputs.content(hash) {
            return Ok((*content).clone());
        }
        let found = self
            .store
            .contents(std::slice::from_ref(hash))
            .await
            .or_status()?;
        let content = found.into_iter().next();
        content.ok_or_else(|| Status::not_found(format!("there is no content {hash}")))
    }
}

/// The lease belongs to another input.
pub(crate) fn not_of_lease(held: &Held) -> Status {
    Status::permission_denied(format!("this is not of the input of run {}", held.run))
}

fn digest(hash: &str) -> Result<Digest, Status> {
    hash.parse()
        .map_err(|_no_digest| Status::invalid_argument("not a digest"))
}

/// Returns at least one chunk, also for empty bytes: every request gets an answer.
fn chunks(bytes: Vec<u8>) -> impl Iterator<Item = Vec<u8>> {
    let length = bytes.len().max(1);
    (0..length).step_by(CHUNK_BYTES).map(move |from| {
        let until = (from + CHUNK_BYTES).min(bytes.len());
        bytes.get(from..until).unwrap_or_default().to_vec()
    })
}
