//! One subscriber's copy of one view, and the messages that update the copy.

use std::sync::Arc;

use cts_core::{TraceContext, ViewId, ViewSnapshot};
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::{self as proto, WatchResponse};
use cts_rpc::convert::{delta_to_wire, duration_to_wire};
use futures::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::Instant;

use super::requested_reads::RequestedReads;
use crate::state::{Failure, ViewState};
use crate::views::SubscribedView;

/// Messages that must be sent in a row.
pub(super) type Messages = Vec<WatchResponse>;

/// The view's poller is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ViewEnded;

/// Changes of the view, beginning with its full snapshot; ends after an error. The messages are made when the
/// stream is polled, from the state of that moment. Each carries the subscriber's id of the subscription.
pub(super) fn updates(
    view_id: ViewId,
    (view, reads): (SubscribedView, RequestedReads),
    id: u64,
) -> impl Stream<Item = Result<Messages, ViewEnded>> + Send {
    let subscription = view.state().map(|state| Subscription {
        id,
        view_id,
        state,
        view,
        reads,
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
    /// The subscriber's name for the subscription.
    id: u64,
    view_id: ViewId,
    view: SubscribedView,
    state: watch::Receiver<ViewState>,
    reads: RequestedReads,
    /// The snapshot that the subscriber has.
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
            trace,
            read,
        } = self.state.borrow_and_update().clone();
        let now = Instant::now();
        let has_snapshot = self.sent.is_some();
        let mut messages =
            snapshot.map_or_else(Vec::new, |snapshot| self.catch_up(snapshot, trace));
        if let Some(answered) = answered.filter(|_| has_snapshot && !messages.is_empty()) {
            self.view.note_sent(answered, now);
        }
        match failure {
            Some(failure) => {
                self.failing = true;
                messages.push(self.failure(&failure, answered, now));
            }
            None if self.failing => {
                self.failing = false;
                if messages.is_empty() {
                    messages.extend(self.recovery());
                }
            }
            None => {}
        }
        // Sent after all content that the read has found.
        if let Some(mark) = self.reads.take(read) {
            messages.push(response(Event::Read(proto::ViewRead {
                view_id: self.view_id.as_str().to_owned(),
                mark,
                subscription_id: self.id,
            })));
        }
        messages
    }

    fn catch_up(&mut self, snapshot: Arc<ViewSnapshot>, trace: Option<TraceContext>) -> Messages {
        let mut delta = snapshot.delta_from(self.sent.as_deref());
        delta.trace = trace.filter(|_| delta.base.is_some());
        // Happens also when the data has changed and changed back in the meantime.
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
            outage: failure.outage,
            retry_after: Some(duration_to_wire(retry_after)),
            subscription_id: self.id,
            failing_for: Some(since(failure.since)),
            since_answer: answered.map(since),
        }))
    }

    /// Consul answers again, with the same data: an empty delta reports that.
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
