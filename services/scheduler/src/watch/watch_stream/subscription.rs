//! One stream of a watcher, as complete deltas.

use std::collections::HashSet;

use cts_core::{View, ViewId, excerpt};
use cts_proto::watch::v1 as proto;
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::{Peer, convert};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Streaming;

use super::assembly::Assembly;
use super::stream_event::{ERROR_SHOWN, StreamError, StreamEvent};
use crate::watch::event::WatchError;
use crate::watch::read_request::ReadRequest;

/// A stream of complete deltas. The stream ends at any error; a view whose messages do not fit together is
/// requested once more before that.
#[derive(Debug)]
pub(super) struct Subscription {
    responses: Streaming<proto::WatchResponse>,
    assembly: Assembly,
    /// Its end would end the call.
    requests: mpsc::UnboundedSender<proto::WatchRequest>,
}

impl Subscription {
    pub(super) async fn open(watcher: &Peer, views: Vec<View>) -> Result<Self, StreamError> {
        let mut assembly = Assembly::default();
        let (requests, stream) = mpsc::unbounded_channel();
        // The receiver is at hand, so the channel is open.
        drop(requests.send(assembly.subscribe(views)));
        let responses = WatchServiceClient::new(watcher.channel())
            .watch(UnboundedReceiverStream::new(stream))
            .await?;
        Ok(Self {
            responses: responses.into_inner(),
            assembly,
            requests,
        })
    }

    /// Subscribes to the views that are only in `after`, and unsubscribes from the views that are only in `before`.
    pub(super) fn change(&mut self, before: &[View], after: &[View]) {
        let known: HashSet<ViewId> = before.iter().map(View::id).collect();
        let wanted: HashSet<ViewId> = after.iter().map(View::id).collect();
        let gone: Vec<String> = known
            .difference(&wanted)
            .map(|id| id.as_str().to_owned())
            .collect();
        let new: Vec<View> = after
            .iter()
            .filter(|view| !known.contains(&view.id()))
            .cloned()
            .collect();
        if !gone.is_empty() {
            self.assembly.unsubscribe(&gone);
            let change = Change::Unsubscribe(proto::Unsubscribe { view_ids: gone });
            self.send(proto::WatchRequest {
                change: Some(change),
            });
        }
        if !new.is_empty() {
            self.subscribe(new);
        }
    }

    /// Requests these views from their beginning. Messages for an older subscription of them are ignored from
    /// now on.
    pub(super) fn subscribe(&mut self, views: Vec<View>) {
        let request = self.assembly.subscribe(views);
        self.send(request);
    }

    /// Requests reads of these views.
    pub(super) fn read(&self, request: &ReadRequest) {
        let change = Change::Read(proto::ReadViews {
            view_ids: request.views.iter().map(ViewId::to_string).collect(),
            mark: request.mark,
            gather: request.gather,
        });
        self.send(proto::WatchRequest {
            change: Some(change),
        });
    }

    fn send(&self, request: proto::WatchRequest) {
        // Closed only when the call has ended, which the next response shows.
        drop(self.requests.send(request));
    }

    /// The next complete delta, or failure of a view. Cancel safe: parts that have come are kept.
    pub(super) async fn next(&mut self) -> Result<StreamEvent, StreamError> {
        loop {
            let message = self.responses.message().await?.ok_or(StreamError::Ended)?;
            match message.event {
                Some(Event::Delta(part)) => {
                    if let Some(delta) = self.join(part)? {
                        let id = ViewId::new(delta.view_id.clone());
                        return Ok(StreamEvent::Delta(id, convert::delta_from_wire(delta)));
                    }
                }
                Some(Event::Failure(failure))
                    if self
                        .assembly
                        .is_current(&failure.view_id, failure.subscription_id) =>
                {
                    let id = ViewId::new(failure.view_id.as_str());
                    return Ok(StreamEvent::Failure(id, watch_error(&failure)));
                }
                Some(Event::Read(read))
                    if self
                        .assembly
                        .is_current(&read.view_id, read.subscription_id) =>
                {
                    return Ok(StreamEvent::Read(
                        ViewId::new(read.view_id.as_str()),
                        read.mark,
                    ));
                }
                // Belongs to an older subscription.
                Some(Event::Failure(_) | Event::Read(_)) | None => {}
            }
        }
    }

    fn join(&mut self, part: proto::ViewDelta) -> Result<Option<proto::ViewDelta>, StreamError> {
        let view = part.view_id.clone();
        let error = match self.assembly.join(part) {
            Ok(joined) => return Ok(joined),
            Err(error) => error,
        };
        let Some(request) = self.assembly.subscribe_once_more(&view) else {
            return Err(error.into());
        };
        tracing::warn!(view.id = view, error = %error, "messages of a view do not fit together, asking for all of it again");
        self.send(request);
        Ok(None)
    }
}

/// The reason why a watcher cannot read a view, of bounded length.
fn watch_error(failure: &proto::ViewFailure) -> WatchError {
    WatchError {
        text: excerpt(&failure.message, ERROR_SHOWN),
        refused: failure.refused,
        outage: failure.outage,
        lasts: convert::duration_from_wire(failure.failing_for.as_ref()),
        retry_after: failure
            .retry_after
            .as_ref()
            .map(|wait| convert::duration_from_wire(Some(wait))),
        since_answer: failure
            .since_answer
            .as_ref()
            .map(|age| convert::duration_from_wire(Some(age))),
    }
}
