//! The inputs of leased runs, and the contents that they share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use cts_core::{Content, Digest, InvalidDigest, RunInput, ThawError};
use cts_proto::run::v1 as proto;
use cts_proto::run::v1::run_service_client::RunServiceClient;
use cts_rpc::admission::with_lease_proof;
use moka::sync::Cache;
use tonic::Status;
use tonic::transport::Channel;

use crate::calls::call_timeout::within;
use crate::lease::{Lease, NamedContent};

/// Most bytes of kept contents, with the additional bytes that each of them needs: the next run often needs
/// the same contents.
const KEPT: u64 = 8 * 1024 * 1024;

/// Bytes that keeping a content needs in addition to its own bytes, roughly.
const BESIDES: usize = 512;

/// Longest time for the parts of an input.
const TRANSFER: Duration = Duration::from_mins(2);

/// Most contents in one call.
const AT_ONCE: usize = 256;

/// The input of a run could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("the scheduler did not send the input of the run")]
    Call(#[from] Status),
    #[error("the scheduler names something else than a content of the input")]
    Name(#[from] InvalidDigest),
    #[error("the scheduler sent {got} in place of the content {wanted} of the input")]
    Other { wanted: Digest, got: Digest },
    #[error("the scheduler did not send the content {0} of the input")]
    Missing(Digest),
    #[error("the input of the run cannot be read")]
    Thaw(#[from] ThawError),
}

/// Contents by their hashes. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Contents(Cache<Digest, Arc<Content>>);

impl Default for Contents {
    fn default() -> Self {
        let length = |content: &Arc<Content>| {
            u32::try_from(content.bytes.len() + BESIDES).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(KEPT);
        Self(cache.weigher(move |_, content| length(content)).build())
    }
}

impl Contents {
    /// The input of a leased run: contents from the lease, kept contents, and contents from the scheduler.
    pub(crate) async fn input(
        &self,
        runs: &RunServiceClient<Channel>,
        lease: &Lease,
    ) -> Result<RunInput, InputError> {
        let (input, proof) = (&lease.input, &lease.proof);
        let mut named = input.take_contents();
        if named.is_empty() {
            let hashes = within(TRANSFER, ask(runs, &input.hash, proof)).await?;
            named = hashes
                .into_iter()
                .map(|hash| NamedContent { hash, bytes: None })
                .collect();
        }
        let mut hashes = Vec::with_capacity(named.len());
        let mut contents = HashMap::new();
        let mut missing = Vec::new();
        for NamedContent { hash, bytes } in named {
            let hash: Digest = hash.parse()?;
            hashes.push(hash);
            let kept = self.0.get(&hash);
            match (kept, bytes) {
                (Some(content), _) => drop(contents.insert(hash, content)),
                (None, Some(bytes)) => {
                    contents.insert(hash, self.keep(hash, bytes)?);
                }
                (None, None) => missing.push(hash),
            }
        }
        // Two views can have equal contents.
        missing.sort_unstable();
        missing.dedup();
        for part in missing.chunks(AT_ONCE) {
            for (hash, bytes) in within(TRANSFER, fetch(runs, part, proof)).await? {
                let hash: Digest = hash.parse()?;
                contents.insert(hash, self.keep(hash, bytes)?);
            }
        }
        let mut bytes = Vec::with_capacity(hashes.len());
        for hash in &hashes {
            let content = contents.get(hash).ok_or(InputError::Missing(*hash))?;
            bytes.push(content.bytes.as_slice());
        }
        Ok(RunInput::thaw(bytes)?)
    }

    fn keep(&self, wanted: Digest, bytes: Vec<u8>) -> Result<Arc<Content>, InputError> {
        let content = Arc::new(Content::from_bytes(bytes));
        let got = content.hash;
        if got != wanted {
            return Err(InputError::Other { wanted, got });
        }
        self.0.insert(wanted, Arc::clone(&content));
        Ok(content)
    }
}

/// Hashes of the contents of an input.
async fn ask(
    runs: &RunServiceClient<Channel>,
    input_hash: &str,
    proof: &proto::LeaseProof,
) -> Result<Vec<String>, Status> {
    let request = proto::GetRunInputRequest {
        input_hash: input_hash.to_owned(),
    };
    let request = with_lease_proof(request, proof);
    let mut parts = runs.clone().get_run_input(request).await?.into_inner();
    let mut hashes = Vec::new();
    while let Some(part) = parts.message().await? {
        hashes.extend(part.content_hashes);
    }
    Ok(hashes)
}

/// Contents with their hashes, as the scheduler sends them.
async fn fetch(
    runs: &RunServiceClient<Channel>,
    hashes: &[Digest],
    proof: &proto::LeaseProof,
) -> Result<Vec<(String, Vec<u8>)>, Status> {
    let hashes = hashes.iter().map(Digest::to_string).collect();
    let request = proto::GetInputContentsRequest { hashes };
    let request = with_lease_proof(request, proof);
    let mut parts = runs.clone().get_input_contents(request).await?.into_inner();
    let mut contents: Vec<(String, Vec<u8>)> = Vec::new();
    while let Some(part) = parts.message().await? {
        match contents.last_mut() {
            Some((hash, bytes)) if *hash == part.hash => bytes.extend(part.chunk),
            _ => contents.push((part.hash, part.chunk)),
        }
    }
    Ok(contents)
}
