//! What one subscriber has of one view, and what it must be sent.

use std::sync::Arc;

use cts_core::{ViewId, ViewSnapshot};
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::{self as proto, WatchResponse};
use cts_rpc::convert::{delta_to_wire, duration_to_wire};
use futures::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::state::{Failure, ViewState};
use crate::views::SubscribedView;

/// Messages that must be sent in a row.
pub(super) type Messages = Vec<WatchResponse>;

/// The view's poller is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ViewEnded;

/// From the full snapshot on, what changes in the view; ends after an error. The messages are made when
/// the stream is polled, from the state of that moment. Each carries the subscriber's `id` of the
/// subscription.
pub(super) fn updates(
    view_id: ViewId,
    view: SubscribedView,
    id: u64,
) -> impl Stream<Item = Result<Messages, ViewEnded>> + Send {
    let subscription = view.state().map(|state| Subscription {
        id,
        view_id,
        state,
        _view: view,
        sent: None,
        failing: false,
    });
    stream::unfold(subscription, |subscription| async move {
        let mut subscription = subscription?;
        match subscription.state.changed().await {
            Ok(()) => Some((Ok(subscription.messages()), Some(subscription))),
            Err(_closed) => Some((Err(ViewEnded), None)),
        }
    })
}

struct Subscription {
    /// The subscriber's name for it.
    id: u64,
    view_id: ViewId,
    _view: SubscribedView,
    state: watch::Receiver<ViewState>,
    /// What the subscriber has.
    sent: Option<Arc<ViewSnapshot>>,
    /// The last message was a failure.
    failing: bool,
}

impl Subscription {
    fn messages(&mut self) -> Messages {
        let ViewState {
            snapshot,
            failure,
            answered,
        } = self.state.borrow_and_update().clone();
        let mut messages = snapshot.map_or_else(Vec::new, |snapshot| self.catch_up(snapshot));
        match failure {
            Some(failure) => {
                self.failing = true;
                messages.push(self.failure(&failure, answered, Instant::now()));
            }
            None if self.failing => {
                self.failing = false;
                if messages.is_empty() {
                    messages.extend(self.recovery());
                }
            }
            None => {}
        }
        messages
    }

    fn catch_up(&mut self, snapshot: Arc<ViewSnapshot>) -> Messages {
        let delta = snapshot.delta_from(self.sent.as_deref());
        // Also when the data has changed and changed back in the meantime.
        if delta.base.is_some() && delta.upserts.is_empty() && delta.removals.is_empty() {
            return Vec::new();
        }
        self.sent = Some(snapshot);
        delta_to_wire(&self.view_id, self.id, &delta)
            .into_iter()
            .map(|part| response(Event::Delta(part)))
            .collect()
    }

    fn failure(&self, failure: &Failure, answered: Option<Instant>, now: Instant) -> WatchResponse {
        let since = |moment: Instant| duration_to_wire(now.saturating_duration_since(moment));
        let retry_after = failure.next_try.saturating_duration_since(now);
        response(Event::Failure(proto::ViewFailure {
            view_id: self.view_id.as_str().to_owned(),
            message: failure.message.clone(),
            failures: failure.failures,
            refused: failure.refused,
            retry_after: Some(duration_to_wire(retry_after)),
            subscription_id: self.id,
            failing_for: Some(since(failure.since)),
            since_answer: answered.map(since),
        }))
    }

    /// Consul answers again, with the same data: a delta that changes nothing says so.
    fn recovery(&self) -> Option<WatchResponse> {
        let revision = self.sent.as_ref()?.revision;
        Some(response(Event::Delta(proto::ViewDelta {
            view_id: self.view_id.as_str().to_owned(),
            base_revision: Some(revision),
            revision,
            complete: true,
            subscription_id: self.id,
            part_number: 1,
            ..Default::default()
        })))
    }
}

fn response(event: Event) -> WatchResponse {
    WatchResponse { event: Some(event) }
}
