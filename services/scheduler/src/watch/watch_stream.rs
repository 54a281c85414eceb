//! One watcher's stream: opened, read, and opened again after every break.

mod assembly;
mod subscription;

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use cts_core::{Chain, View, ViewDelta, ViewId, excerpt};
use cts_rpc::Peer;
use tokio::sync::mpsc;
use tonic::Status;

use self::assembly::BadSequence;
use self::subscription::Subscription;
use super::event::WatchError;

/// Longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Characters of an error that are kept.
const ERROR_SHOWN: usize = 400;

/// An event from one watcher.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// A view changed.
    Delta(ViewId, ViewDelta),
    /// The watcher cannot read a view from Consul.
    Failure(ViewId, WatchError),
    /// The stream has broken, for this reason; it is opened again.
    Broken(String),
}

/// A change of the views that a stream follows.
#[derive(Debug)]
pub(crate) enum Command {
    /// Follow these views, and no others.
    Follow(Vec<View>),
    /// Send this view from its beginning.
    Again(View),
}

/// Follows views at one watcher until its commands end.
#[derive(Debug)]
pub(crate) struct WatchStream {
    watcher: Peer,
    commands: mpsc::UnboundedReceiver<Command>,
    events_tx: mpsc::Sender<(String, StreamEvent)>,
    views: Vec<View>,
    /// The stream has broken, and nothing has come since.
    broken: bool,
}

#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error("the watcher ended the stream")]
    Ended,
    #[error("the watcher cannot be asked")]
    Call(#[from] Status),
    #[error("the watcher sent unusable messages of a view again")]
    Sequence(#[from] BadSequence),
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
            broken: false,
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
            let text = excerpt(&Chain(&error).to_string(), ERROR_SHOWN);
            // Once until the watcher can be followed again.
            if !std::mem::replace(&mut self.broken, true) {
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

    async fn follow(&mut self, waits: &mut ExponentialBackoff) -> Result<Over, StreamError> {
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
                event = subscription.next() => {
                    let event = event?;
                    *waits = self::waits();
                    if std::mem::replace(&mut self.broken, false) {
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

fn waits() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(50))
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times()
        .build()
}
