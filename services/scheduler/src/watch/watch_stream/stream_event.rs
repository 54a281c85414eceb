//! Events and errors of a stream.

use cts_core::{ViewDelta, ViewId};
use cts_rpc::CallFailure;
use tonic::Status;

use super::assembly::BadSequence;
use crate::watch::event::WatchError;

/// Characters of an error that are kept.
pub(super) const ERROR_SHOWN: usize = 400;

/// An event from one watcher.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// A view changed.
    Delta(ViewId, ViewDelta),
    /// A view was read, and the read began after the request with this mark.
    Read(ViewId, u64),
    /// The watcher cannot read a view from Consul.
    Failure(ViewId, WatchError),
    /// The stream has broken, for this reason; it is opened again.
    Broken(String),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StreamError {
    #[error("the watcher ended the stream")]
    Ended,
    #[error("the watcher cannot be asked: {}", CallFailure(.0))]
    Call(Box<Status>),
    #[error("the watcher sent unusable messages of a view again")]
    Sequence(#[from] BadSequence),
}

impl From<Status> for StreamError {
    fn from(status: Status) -> Self {
        Self::Call(Box::new(status))
    }
}
