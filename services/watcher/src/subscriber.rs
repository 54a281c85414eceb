//! One subscriber: its requests and its messages.
//!
//! Everything happens while the response stream is polled, that is while the connection can take a message.
//! Until then the views' states only replace each other, so the messages always lead from the subscriber's
//! snapshot to the newest state.

mod requested_reads;
mod subscription;

use std::collections::{HashMap, VecDeque};

use cts_consul::ReadRequests;
use cts_core::{View, ViewId};
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::{WatchRequest, WatchResponse};
use cts_rpc::convert::views_from_wire;
use futures::StreamExt as _;
use futures::stream::{self, AbortHandle, Abortable, BoxStream, SelectAll, Stream};
use tonic::Status;

use self::requested_reads::RequestedReads;
use self::subscription::{Messages, ViewEnded, updates};
use crate::views::Views;

/// The messages for a subscriber that sends `requests`. If the subscriber ends its requests, it continues to receive.
/// Dropping the stream frees everything.
pub(crate) fn responses(
    views: Views,
    requests: impl Stream<Item = Result<WatchRequest, Status>> + Send + Unpin + 'static,
) -> BoxStream<'static, Result<WatchResponse, Status>> {
    let subscriber = Subscriber {
        views,
        requests: Some(requests),
        active: HashMap::new(),
        changes: SelectAll::new(),
        outgoing: VecDeque::new(),
        ended: false,
    };
    stream::unfold(subscriber, |mut subscriber| async move {
        let message = subscriber.next().await?;
        Some((message, subscriber))
    })
    .boxed()
}

struct Subscriber<R> {
    views: Views,
    /// `None` when the subscriber has closed its side.
    requests: Option<R>,
    active: HashMap<ViewId, Active>,
    /// One stream per active subscription, and the streams of subscriptions that were just ended.
    changes: SelectAll<Abortable<BoxStream<'static, Result<Messages, ViewEnded>>>>,
    /// Messages that belong together, to be sent before anything else is looked at.
    outgoing: VecDeque<WatchResponse>,
    ended: bool,
}

/// Keeps a subscription going; it ends when this is dropped.
struct Active {
    updates: AbortHandle,
    requests: ReadRequests,
    reads: RequestedReads,
}

impl Drop for Active {
    fn drop(&mut self) {
        self.updates.abort();
    }
}

/// Reasons for which the subscriber wakes.
enum Wake {
    Stopped,
    Request(Option<Result<WatchRequest, Status>>),
    Change(Result<Messages, ViewEnded>),
}

impl<R> Subscriber<R>
where
    R: Stream<Item = Result<WatchRequest, Status>> + Send + Unpin,
{
    async fn next(&mut self) -> Option<Result<WatchResponse, Status>> {
        loop {
            if let Some(message) = self.outgoing.pop_front() {
                return Some(Ok(message));
            }
            if self.ended || (self.requests.is_none() && self.active.is_empty()) {
                return None;
            }
            let wake = self.wake().await;
            if let Err(status) = self.handle(wake) {
                self.ended = true;
                return Some(Err(status));
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        let request = async {
            match &mut self.requests {
                Some(requests) => requests.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.views.stopped() => Wake::Stopped,
            request = request => Wake::Request(request),
            Some(change) = self.changes.next() => Wake::Change(change),
        }
    }

    fn handle(&mut self, wake: Wake) -> Result<(), Status> {
        match wake {
            Wake::Stopped => Err(stopping()),
            Wake::Request(None) => {
                self.requests = None;
                Ok(())
            }
            Wake::Request(Some(request)) => self.handle_request(request?),
            Wake::Change(Ok(messages)) => {
                self.outgoing.extend(messages);
                Ok(())
            }
            // The poller stops with the watcher; otherwise it must have panicked.
            Wake::Change(Err(ViewEnded)) if self.views.is_stopped() => Err(stopping()),
            Wake::Change(Err(ViewEnded)) => Err(Status::internal("a view has ended")),
        }
    }

    fn handle_request(&mut self, request: WatchRequest) -> Result<(), Status> {
        match request.change {
            Some(Change::Subscribe(subscribe)) => {
                let id = subscribe.subscription_id;
                for view in views_from_wire(subscribe)? {
                    self.subscribe(view, id);
                }
            }
            Some(Change::Unsubscribe(unsubscribe)) => {
                for id in unsubscribe.view_ids {
                    if self.active.remove(&ViewId::new(id.as_str())).is_none() {
                        let text = format!("the view {id:?} is not followed");
                        return Err(Status::invalid_argument(text));
                    }
                }
            }
            Some(Change::Read(read)) => {
                let ids = read.view_ids.iter();
                let followed = ids.filter_map(|id| self.active.get(&ViewId::new(id.as_str())));
                for active in followed {
                    let number = active.requests.request(read.gather);
                    active.reads.note(number, read.mark);
                }
            }
            None => return Err(Status::invalid_argument("the request asks for nothing")),
        }
        Ok(())
    }

    fn subscribe(&mut self, view: View, subscription: u64) {
        let id = view.id();
        let view = self.views.subscribe(view);
        let (requests, reads) = (view.requests(), RequestedReads::default());
        let followed = updates(id.clone(), (view, reads.clone()), subscription).boxed();
        let (followed, updates) = stream::abortable(followed);
        self.changes.push(followed);
        // An older subscription to the same view ends only here, so the poller goes on.
        let active = Active {
            updates,
            requests,
            reads,
        };
        self.active.insert(id, active);
    }
}

fn stopping() -> Status {
    Status::unavailable("the watcher is shutting down")
}
