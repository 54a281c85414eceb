//! The subscription to a watcher: a stream of complete deltas that ends when anything is wrong with
//! it. Who follows opens a new one then and gets full snapshots again.

use std::collections::HashMap;

use cts_core::{ServiceView, ViewDelta, ViewId};
use cts_proto::watch::v1 as proto;
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::{ConversionError, convert};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

/// See the module.
#[derive(Debug)]
pub(crate) struct Subscription {
    responses: Streaming<proto::WatchResponse>,
    /// Deltas of which not all messages have come.
    partial: HashMap<String, proto::ViewDelta>,
    /// Held, because its end would end the call.
    _requests: mpsc::UnboundedSender<proto::WatchRequest>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    #[error("the watcher ended the stream")]
    Ended,
    #[error("the watcher cannot be asked")]
    Call(#[from] Status),
    #[error("the watcher sent something unusable")]
    Message(#[from] ConversionError),
}

impl Subscription {
    pub(crate) async fn open(
        mut watcher: WatchServiceClient<Channel>,
        views: Vec<ServiceView>,
    ) -> Result<Self, FollowError> {
        let (requests, stream) = mpsc::unbounded_channel();
        let views = views.into_iter().map(convert::view_to_wire).collect();
        let subscribe = Change::Subscribe(proto::Subscribe { views });
        // The receiver is at hand, so the channel is open.
        drop(requests.send(proto::WatchRequest {
            change: Some(subscribe),
        }));
        let responses = watcher
            .watch(UnboundedReceiverStream::new(stream))
            .await?
            .into_inner();
        Ok(Self {
            responses,
            partial: HashMap::new(),
            _requests: requests,
        })
    }

    /// The next complete delta. Cancel safe: parts that have come are kept.
    pub(crate) async fn next(&mut self) -> Result<(ViewId, ViewDelta), FollowError> {
        loop {
            let message = self.responses.message().await?.ok_or(FollowError::Ended)?;
            match message.event {
                Some(Event::Delta(part)) => {
                    if let Some(delta) = self.join(part) {
                        let id = ViewId::new(delta.view_id.clone());
                        return Ok((id, convert::delta_from_wire(delta)?));
                    }
                }
                Some(Event::Failure(failure)) => {
                    tracing::debug!(
                        view.id = failure.view_id,
                        failures = failure.failures,
                        error = failure.message,
                        "view cannot be read from Consul for now"
                    );
                }
                None => {}
            }
        }
    }

    fn join(&mut self, part: proto::ViewDelta) -> Option<proto::ViewDelta> {
        let complete = part.complete;
        let whole = match self.partial.remove(&part.view_id) {
            None => part,
            Some(mut earlier) => {
                earlier.upserts.extend(part.upserts);
                earlier.removals.extend(part.removals);
                earlier
            }
        };
        if complete {
            return Some(whole);
        }
        self.partial.insert(whole.view_id.clone(), whole);
        None
    }
}
