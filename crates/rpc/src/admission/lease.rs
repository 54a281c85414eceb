//! The proof of a lease in the metadata of calls for its run.

use cts_proto::run::v1::LeaseProof;
use prost::Message as _;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Request, Status};

/// The metadata with which a worker proves that it holds the lease of the run in a call.
pub const LEASE_METADATA: &str = "cts-lease-bin";

/// Makes a request with this proof. Without a secret the request has no proof.
pub fn with_lease_proof<T>(message: T, proof: &LeaseProof) -> Request<T> {
    let mut request = Request::new(message);
    if !proof.secret.is_empty() {
        let value = MetadataValue::from_bytes(&proof.encode_to_vec());
        request.metadata_mut().insert_bin(LEASE_METADATA, value);
    }
    request
}

/// The proof in the metadata of a call.
///
/// # Errors
/// If the proof cannot be read.
pub fn lease_proof(metadata: &MetadataMap) -> Result<Option<LeaseProof>, Status> {
    let unreadable =
        || Status::invalid_argument(format!("{LEASE_METADATA} is no proof of a lease"));
    let Some(value) = metadata.get_bin(LEASE_METADATA) else {
        return Ok(None);
    };
    let bytes = value.to_bytes().map_err(|_no_bytes| unreadable())?;
    let proof = LeaseProof::decode(bytes).map_err(|_no_message| unreadable())?;
    Ok(Some(proof))
}
