//! Contents of inputs on their way into a store.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use cts_core::{Content, Digest};

use crate::cell::InputEncoding;
use crate::error::StoreError;
use crate::model::EnqueueRequest;

/// Total size below which encoding contents is faster than a query for the contents that the store lacks.
const FEW_BYTES: usize = 64 * 1024;

/// The distinct contents of some inputs, sorted by hash, so that two transactions that store the same contents do not
/// deadlock.
#[derive(Debug)]
pub struct InputContents(BTreeMap<Digest, Arc<Content>>);

impl InputContents {
    /// Collects the contents of the inputs of these requests.
    pub fn of(requests: &[EnqueueRequest]) -> Self {
        let contents = requests.iter().flat_map(|request| &request.input.contents);
        let contents = contents.map(|content| (content.hash, Arc::clone(content)));
        Self(contents.collect())
    }

    /// Hashes to look up in the store: all of them, or none if encoding the contents is faster than the query.
    pub fn worth_asking(&self) -> Vec<Digest> {
        if is_few(&self.0) {
            return Vec::new();
        }
        self.0.keys().copied().collect()
    }

    /// Encodes the contents whose hashes are not `known`, in the form in which they are stored.
    ///
    /// Called before the transaction that needs the contents, because encoding large contents takes long.
    ///
    /// # Errors
    /// Fails if a content cannot be compressed.
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
    /// The stored form of a content; `None` if the content was known.
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
