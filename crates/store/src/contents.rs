//! Contents of inputs on their way into a store, and what is stored of an input.

use std::collections::BTreeMap;
use std::sync::Arc;

use cts_core::{Content, Digest};

use crate::cell::InputEncoding;
use crate::error::StoreError;
use crate::model::EnqueueRequest;

/// Contents with fewer bytes together are encoded faster than a store can be asked which of them it has.
const FEW_BYTES: usize = 64 * 1024;

/// A frozen input as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredInput {
    /// By these contents, in this order.
    Contents(Vec<Digest>),
    /// In one piece, as earlier versions stored it; see [`cts_core::RunInput::from_one_piece`].
    OnePiece(Vec<u8>),
}

/// The contents of some inputs, each once and in the form in which they are stored.
///
/// Made before the transaction that needs them begins: large ones take their time.
#[derive(Debug, Default)]
pub struct EncodedContents(BTreeMap<Digest, (InputEncoding, Vec<u8>)>);

impl EncodedContents {
    /// Encodes what the inputs of these requests consist of and `is_known` does not name.
    ///
    /// # Errors
    /// If a content cannot be compressed.
    pub async fn of(
        requests: &[EnqueueRequest],
        is_known: impl Fn(&Digest) -> bool,
    ) -> Result<Self, StoreError> {
        let mut contents = distinct(requests);
        contents.retain(|hash, _content| !is_known(hash));
        if is_few(&contents) {
            return encode(&contents);
        }
        tokio::task::spawn_blocking(move || encode(&contents))
            .await
            .map_err(|error| failed(error.into()))?
    }

    /// Whether there are so many bytes that it is worth asking which contents the store has.
    pub fn is_worth_asking(requests: &[EnqueueRequest]) -> bool {
        !is_few(&distinct(requests))
    }

    /// How a content is stored; `None` if it was known.
    pub fn get(&self, hash: &Digest) -> Option<(InputEncoding, &[u8])> {
        let (encoding, bytes) = self.0.get(hash)?;
        Some((*encoding, bytes))
    }
}

/// By hash, so that two that store the same contents do not wait for each other in a circle.
fn distinct(requests: &[EnqueueRequest]) -> BTreeMap<Digest, Arc<Content>> {
    let contents = requests.iter().flat_map(|request| &request.input.contents);
    contents
        .map(|content| (content.hash, Arc::clone(content)))
        .collect()
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
