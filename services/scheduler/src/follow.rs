//! One watcher's stream: opened, read, and opened again after every break.

mod assembly;
mod subscription;

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use cts_core::{Chain, ServiceView, excerpt};
use cts_rpc::Peer;
use tokio::sync::mpsc;
use tonic::Status;

use self::assembly::BadSequence;
use self::subscription::Subscription;
use crate::following::Heard;

/// Longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Characters of an error that are kept.
const ERROR_SHOWN: usize = 400;

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
    /// The stream has broken, and nothing has come since.
    broken: bool,
}

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("the watcher ended the stream")]
    Ended,
    #[error("the watcher cannot be asked")]
    Call(#[from] Status),
    #[error("the watcher sent unusable messages of a view again")]
    Sequence(#[from] BadSequence),
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
            if self.tell(Heard::Broken(text)).await.is_err() {
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
                heard = subscription.next() => {
                    let heard = heard?;
                    *waits = self::waits();
                    if std::mem::replace(&mut self.broken, false) {
                        tracing::info!(watcher = self.watcher.id(), "the watcher can be followed again");
                    }
                    if self.tell(heard).await.is_err() {
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
