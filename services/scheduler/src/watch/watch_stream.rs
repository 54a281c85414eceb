//! One watcher's stream: opened, read, and opened again after every break.

mod assembly;
mod stream_event;
mod subscription;

use std::error::Error as _;
use std::time::Duration;

use cts_core::{Backoff, Chain, Pauses, View, excerpt};
use cts_rpc::Peer;
use cts_runtime::Outage;
use tokio::sync::mpsc;
use tonic::Code;

pub(crate) use self::stream_event::StreamEvent;
use self::stream_event::{ERROR_SHOWN, StreamError};
use self::subscription::Subscription;
use super::read_request::ReadRequest;

/// Pauses between two tries.
const RETRIES: Backoff =
    Backoff::new(Duration::from_millis(50), Duration::from_secs(5)).with_jitter(1.0);

/// A change of the views that a stream follows.
#[derive(Debug)]
pub(crate) enum Command {
    /// Follow exactly these views.
    Follow(Vec<View>),
    /// Send this view from its beginning.
    Again(View),
    /// Read these views.
    Read(ReadRequest),
}

/// Follows views at one watcher until its commands end.
#[derive(Debug)]
pub(crate) struct WatchStream {
    watcher: Peer,
    commands: mpsc::UnboundedReceiver<Command>,
    events_tx: mpsc::Sender<(String, StreamEvent)>,
    views: Vec<View>,
    /// Lasts from a break of the stream to the next message.
    outage: Outage,
}

/// The receiver of the events has gone.
struct Over;

impl WatchStream {
    pub(crate) fn new(
        watcher: Peer,
        commands: mpsc::UnboundedReceiver<Command>,
        events_tx: mpsc::Sender<(String, StreamEvent)>,
    ) -> Self {
        Self {
            watcher,
            commands,
            events_tx,
            views: Vec::new(),
            outage: Outage::default(),
        }
    }

    /// Follows until the commands end.
    pub(crate) async fn run(mut self) {
        let mut pauses = RETRIES.pauses(fastrand::f64);
        loop {
            while self.views.is_empty() {
                match self.commands.recv().await {
                    Some(command) => self.note(command),
                    None => return,
                }
            }
            let error = match self.follow(&mut pauses).await {
                Ok(Over) => return,
                Err(error) => error,
            };
            let wait = pauses.next_pause();
            let text = excerpt(&Chain(&error).to_string(), ERROR_SHOWN);
            if self.is_logged(&error) {
                tracing::debug!(watcher = self.watcher.id(), error = text, retry_after = ?wait, "cannot follow the watcher");
            } else if self.outage.fails() {
                tracing::warn!(watcher = self.watcher.id(), error = text, retry_after = ?wait, "cannot follow the watcher");
            }
            if self.send(StreamEvent::Broken(text)).await.is_err() {
                return;
            }
            tokio::time::sleep(wait).await;
            while let Ok(command) = self.commands.try_recv() {
                self.note(command);
            }
        }
    }

    /// Whether the connections to the watchers log the outage.
    fn is_logged(&self, error: &StreamError) -> bool {
        let is_lost = match error {
            StreamError::Ended => true,
            StreamError::Call(status) => {
                status.code() == Code::Unavailable || status.source().is_some()
            }
            StreamError::Sequence(_) => false,
        };
        is_lost && self.watcher.address().is_some()
    }

    fn note(&mut self, command: Command) {
        if let Command::Follow(views) = command {
            self.views = views;
        }
    }

    async fn send(&self, event: StreamEvent) -> Result<(), Over> {
        let sent = self
            .events_tx
            .send((self.watcher.id().to_owned(), event))
            .await;
        sent.map_err(|_closed| Over)
    }

    async fn follow(&mut self, pauses: &mut Pauses) -> Result<Over, StreamError> {
        let mut subscription = Subscription::open(&self.watcher, self.views.clone()).await?;
        loop {
            tokio::select! {
                command = self.commands.recv() => {
                    let Some(command) = command else { return Ok(Over) };
                    match &command {
                        Command::Follow(views) => subscription.change(&self.views, views),
                        Command::Again(view) => subscription.subscribe(vec![view.clone()]),
                        Command::Read(request) => subscription.read(request),
                    }
                    self.note(command);
                }
                event = subscription.next() => {
                    let event = event?;
                    pauses.reset();
                    if self.outage.works() {
                        tracing::info!(watcher = self.watcher.id(), "the watcher can be followed again");
                    }
                    if self.send(event).await.is_err() {
                        return Ok(Over);
                    }
                }
            }
        }
    }
}
