//! One subscriber's copy of one view, and the messages that update the copy.

use std::sync::Arc;

use cts_core::{Item, TraceContext, ViewId, ViewSnapshot, keys_text};
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

/// How a subscriber follows a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// The subscriber's name for the subscription.
    pub(super) id: u64,
    /// The subscriber understands keys without a value. An earlier version would take them for deleted.
    pub(super) takes_unreadable_keys: bool,
}

/// The view's poller is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ViewEnded;

/// Changes of the view, beginning with its full snapshot; ends after an error. The messages are made when the
/// stream is polled, from the state of that moment. Each carries the subscriber's id of the subscription.
pub(super) fn updates(
    view_id: ViewId,
    (view, reads): (SubscribedView, RequestedReads),
    terms: Terms,
) -> impl Stream<Item = Result<Messages, ViewEnded>> + Send {
    let subscription = view.state().map(|state| Subscription {
        terms,
        view_id,
        state,
        view,
        reads,
        sent: None,
        failing: false,
        unsendable: None,
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
    terms: Terms,
    view_id: ViewId,
    view: SubscribedView,
    state: watch::Receiver<ViewState>,
    reads: RequestedReads,
    /// The snapshot that the subscriber has.
    sent: Option<Arc<ViewSnapshot>>,
    /// The last message was a failure.
    failing: bool,
    /// Beginning of the time in which the subscriber would not understand the snapshot.
    unsendable: Option<Instant>,
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
        let not_taken = self.not_taken(snapshot.as_deref(), now);
        let failure = failure.or(not_taken);
        let snapshot = snapshot.filter(|_| self.unsendable.is_none());
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
        // Sent after all content that the read has found. The subscriber does not have this content if it cannot
        // understand it.
        if let Some(mark) = self.reads.take(read)
            && self.unsendable.is_none()
        {
            messages.push(response(Event::Read(proto::ViewRead {
                view_id: self.view_id.as_str().to_owned(),
                mark,
                subscription_id: self.terms.id,
            })));
        }
        messages
    }

    /// The failure that the subscriber gets instead of a snapshot that it would not understand.
    fn not_taken(&mut self, snapshot: Option<&ViewSnapshot>, now: Instant) -> Option<Arc<Failure>> {
        let shown = snapshot.filter(|_| !self.terms.takes_unreadable_keys);
        let mut items = shown.into_iter().flat_map(|shown| shown.items.values());
        let odd = items.find_map(|item| match item {
            Item::UnreadableKey(key) => Some(Arc::clone(key)),
            _ => None,
        });
        let Some(key) = odd else {
            self.unsendable = None;
            return None;
        };
        Some(Arc::new(Failure {
            message: format!(
                "the value of key {} is not text in UTF-8, or longer than 2 MiB",
                keys_text([&*key])
            ),
            refused: false,
            outage: false,
            failures: 1,
            since: *self.unsendable.get_or_insert(now),
            next_try: now,
        }))
    }

    fn catch_up(&mut self, snapshot: Arc<ViewSnapshot>, trace: Option<TraceContext>) -> Messages {
        let mut delta = snapshot.delta_from(self.sent.as_deref());
        delta.trace = trace.filter(|_| delta.base.is_some());
        // Happens also when the data has changed and changed back in the meantime.
        if delta.base.is_some() && delta.upserts.is_empty() && delta.removals.is_empty() {
            return Vec::new();
        }
        self.sent = Some(snapshot);
        delta_to_wire(&self.view_id, self.terms.id, &delta)
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
            subscription_id: self.terms.id,
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
            subscription_id: self.terms.id,
            part_number: 1,
            ..Default::default()
        })))
    }
}

fn response(event: Event) -> WatchResponse {
    WatchResponse { event: Some(event) }
}
