//! Contents of inputs on their way into a store, and the stored form of an input.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cts_core::{Content, Digest};

use crate::cell::InputEncoding;
use crate::error::StoreError;
use crate::model::EnqueueRequest;

/// Total size below which encoding contents is faster than asking a store which of them it has.
const FEW_BYTES: usize = 64 * 1024;

/// A frozen input as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredInput {
    /// By these contents, in this order.
    Contents(Vec<Digest>),
    /// In one piece, as earlier versions stored it; see [`cts_core::RunInput::from_one_piece`].
    OnePiece(Vec<u8>),
}

/// The contents of some inputs, each once: by hash, so that two that store the same ones do not wait for each
/// other in a circle.
#[derive(Debug)]
pub struct InputContents(BTreeMap<Digest, Arc<Content>>);

impl InputContents {
    /// Collects the contents of the inputs of these requests.
    pub fn of(requests: &[EnqueueRequest]) -> Self {
        let contents = requests.iter().flat_map(|request| &request.input.contents);
        let contents = contents.map(|content| (content.hash, Arc::clone(content)));
        Self(contents.collect())
    }

    /// Hashes to look up in the store: all, or none if encoding the contents is faster than asking.
    pub fn worth_asking(&self) -> Vec<Digest> {
        if is_few(&self.0) {
            return Vec::new();
        }
        self.0.keys().copied().collect()
    }

    /// Encodes the contents whose hashes are not `known`, in the form in which they are stored.
    ///
    /// Called before the transaction that needs them begins, because encoding large ones takes long.
    ///
    /// # Errors
    /// If a content cannot be compressed.
    pub async fn encoded(&self, known: &HashSet<Digest>) -> Result<EncodedContents, StoreError> {
        let mut contents = self.0.clone();
        contents.retain(|hash, _content| !known.contains(hash));
        if is_few(&contents) {
            return encode(&contents);
        }
        tokio::task::spawn_blocking(move || encode(&contents))
            .await
            .map_err(|error| failed(error.into()))?
    }
}

/// Contents of inputs as they are stored.
#[derive(Debug)]
pub struct EncodedContents(BTreeMap<Digest, (InputEncoding, Vec<u8>)>);

impl EncodedContents {
    /// How a content is stored; `None` if it was known.
    pub fn get(&self, hash: &Digest) -> Option<(InputEncoding, &[u8])> {
        let (encoding, bytes) = self.0.get(hash)?;
        Some((*encoding, bytes))
    }
}

fn is_few(contents: &BTreeMap<Digest, Arc<Content>>) -> bool {
    let bytes = contents.values().map(|content| content.bytes.len());
    bytes.sum::<usize>() < FEW_BYTES
}

fn encode(contents: &BTreeMap<Digest, Arc<Content>>) -> Result<EncodedContents, StoreError> {
    let encoded = contents.values().map(|content| {
        let encoded = InputEncoding::encode(content.bytes.clone());
        let encoded = encoded.map_err(|error| failed(error.into()))?;
        Ok((content.hash, encoded))
    });
    Ok(EncodedContents(encoded.collect::<Result<_, _>>()?))
}

fn failed(source: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database {
        operation: "encode inputs",
        source,
    }
}
