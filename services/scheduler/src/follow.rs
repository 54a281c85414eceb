//! One watcher's stream: opened, read, and opened again after every break.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use cts_core::{Chain, ServiceView, ViewDelta, ViewId};
use cts_proto::watch::v1 as proto;
use cts_proto::watch::v1::watch_request::Change;
use cts_proto::watch::v1::watch_response::Event;
use cts_proto::watch::v1::watch_service_client::WatchServiceClient;
use cts_rpc::{ConversionError, Peer, convert};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::{Status, Streaming};

use crate::following::Heard;

/// Longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What a follower is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// These are the views to follow, and no others.
    Follow(Vec<ServiceView>),
    /// Send this view from its beginning.
    Again(ServiceView),
}

/// Follows views at one watcher until its commands end.
#[derive(Debug)]
pub(crate) struct Follower {
    watcher: Peer,
    commands: mpsc::UnboundedReceiver<Command>,
    tell: mpsc::Sender<(String, Heard)>,
    views: Vec<ServiceView>,
}

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("the watcher ended the stream")]
    Ended,
    #[error("the watcher cannot be asked")]
    Call(#[from] Status),
    #[error("the watcher sent something unusable")]
    Message(#[from] ConversionError),
}

/// Nobody wants to know any more.
struct Over;

impl Follower {
    pub(crate) fn new(
        watcher: Peer,
        commands: mpsc::UnboundedReceiver<Command>,
        tell: mpsc::Sender<(String, Heard)>,
    ) -> Self {
        Self {
            watcher,
            commands,
            tell,
            views: Vec::new(),
        }
    }

    /// Follows until the commands end.
    pub(crate) async fn run(mut self) {
        let mut waits = waits();
        loop {
            while self.views.is_empty() {
                match self.commands.recv().await {
                    Some(command) => self.note(command),
                    None => return,
                }
            }
            let error = match self.follow(&mut waits).await {
                Ok(Over) => return,
                Err(error) => error,
            };
            let wait = waits.next().unwrap_or(LONGEST_WAIT);
            tracing::warn!(watcher = self.watcher.id(), error = %Chain(&error), retry_after = ?wait, "cannot follow the watcher");
            if self.tell(Heard::Broken).await.is_err() {
                return;
            }
            tokio::time::sleep(wait).await;
            while let Ok(command) = self.commands.try_recv() {
                self.note(command);
            }
        }
    }

    fn note(&mut self, command: Command) {
        if let Command::Follow(views) = command {
            self.views = views;
        }
    }

    async fn tell(&self, heard: Heard) -> Result<(), Over> {
        let told = self.tell.send((self.watcher.id().to_owned(), heard)).await;
        told.map_err(|_closed| Over)
    }

    async fn follow(&mut self, waits: &mut ExponentialBackoff) -> Result<Over, FollowError> {
        let mut subscription = Subscription::open(&self.watcher, self.views.clone()).await?;
        loop {
            tokio::select! {
                command = self.commands.recv() => {
                    let Some(command) = command else { return Ok(Over) };
                    match &command {
                        Command::Follow(views) => subscription.change(&self.views, views),
                        Command::Again(view) => subscription.subscribe(vec![view.clone()]),
                    }
                    self.note(command);
                }
                delta = subscription.next() => {
                    let (view, delta) = delta?;
                    *waits = self::waits();
                    if self.tell(Heard::Delta(view, delta)).await.is_err() {
                        return Ok(Over);
                    }
                }
            }
        }
    }
}

fn waits() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times()
        .build()
}

/// A stream of complete deltas that ends when anything is wrong with it.
#[derive(Debug)]
struct Subscription {
    responses: Streaming<proto::WatchResponse>,
    /// Deltas of which not all messages have come.
    partial: HashMap<String, proto::ViewDelta>,
    /// Its end would end the call.
    requests: mpsc::UnboundedSender<proto::WatchRequest>,
}

impl Subscription {
    async fn open(watcher: &Peer, views: Vec<ServiceView>) -> Result<Self, FollowError> {
        let (requests, stream) = mpsc::unbounded_channel();
        let views = views.into_iter().map(convert::view_to_wire).collect();
        let subscribe = Change::Subscribe(proto::Subscribe { views });
        // The receiver is at hand, so the channel is open.
        drop(requests.send(proto::WatchRequest {
            change: Some(subscribe),
        }));
        let responses = WatchServiceClient::new(watcher.channel())
            .watch(UnboundedReceiverStream::new(stream))
            .await?
            .into_inner();
        Ok(Self {
            responses,
            partial: HashMap::new(),
            requests,
        })
    }

    /// Follows what is new in `after`, and no longer what is only in `before`.
    fn change(&mut self, before: &[ServiceView], after: &[ServiceView]) {
        let known: HashSet<ViewId> = before.iter().map(ServiceView::id).collect();
        let wanted: HashSet<ViewId> = after.iter().map(ServiceView::id).collect();
        let gone: Vec<String> = known
            .difference(&wanted)
            .map(|id| id.as_str().to_owned())
            .collect();
        let new: Vec<ServiceView> = after
            .iter()
            .filter(|view| !known.contains(&view.id()))
            .cloned()
            .collect();
        if !gone.is_empty() {
            for id in &gone {
                self.partial.remove(id);
            }
            let change = Change::Unsubscribe(proto::Unsubscribe { view_ids: gone });
            self.request(change);
        }
        if !new.is_empty() {
            self.subscribe(new);
        }
    }

    fn subscribe(&self, views: Vec<ServiceView>) {
        let views = views.into_iter().map(convert::view_to_wire).collect();
        self.request(Change::Subscribe(proto::Subscribe { views }));
    }

    fn request(&self, change: Change) {
        // Closed only when the call has ended, which the next response tells.
        drop(self.requests.send(proto::WatchRequest {
            change: Some(change),
        }));
    }

    /// The next complete delta. Cancel safe: parts that have come are kept.
    async fn next(&mut self) -> Result<(ViewId, ViewDelta), FollowError> {
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
