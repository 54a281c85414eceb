//! Changes of runs for any number of followers, over one call of the scheduler.
//!
//! The gateway takes every change at once and keeps the newest [`KEPT`] for slow followers, so that no follower blocks
//! the shared connection. A follower that lags further is cut off.

use std::sync::{Arc, Weak};

use cts_proto::run::v1::FollowRunsResponse;
use tokio::sync::Mutex;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tonic::{Status, Streaming};

use super::call::CallError;
use super::runs::RunClient;

/// Number of changes that a follower may lag.
const KEPT: usize = 4096;

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct RunEvents {
    runs: RunClient,
    current: Arc<Mutex<Calls>>,
}

/// The call of the scheduler; it ends with the gateway.
#[derive(Debug, Default)]
struct Calls {
    /// Present while the scheduler sends changes.
    changes: Option<Sender<Change>>,
    tasks: JoinSet<()>,
}

/// A change, or why the changes end.
type Change = Result<Arc<FollowRunsResponse>, Status>;

/// Changes from the call on.
#[derive(Debug)]
pub(crate) struct Following(Receiver<Change>);

/// How the changes end for a follower.
#[derive(Debug)]
pub(crate) enum End {
    /// The scheduler has failed.
    Failed(Status),
    /// Number of changes that a slow follower has lost.
    Behind(u64),
    Over,
}

impl RunEvents {
    pub(crate) fn new(runs: RunClient) -> Self {
        Self {
            runs,
            current: Arc::default(),
        }
    }

    /// Changes of all runs from now on.
    pub(crate) async fn follow(&self) -> Result<Following, CallError> {
        let mut current = self.current.lock().await;
        if let Some(changes) = &current.changes {
            return Ok(Following(changes.subscribe()));
        }
        let messages = self.runs.follow().await?;
        let (changes, following) = channel(KEPT);
        current.changes = Some(changes.clone());
        // The one before has ended.
        while current.tasks.try_join_next().is_some() {}
        let passing = pass_on(Arc::downgrade(&self.current), messages, changes);
        current.tasks.spawn(passing);
        Ok(Following(following))
    }
}

/// Passes changes on until the last follower has gone, or the scheduler sends no more.
async fn pass_on(
    current: Weak<Mutex<Calls>>,
    mut messages: Streaming<FollowRunsResponse>,
    changes: Sender<Change>,
) {
    let end = loop {
        tokio::select! {
            message = messages.message() => match message {
                // Sending fails only if all followers are gone.
                Ok(Some(change)) => drop(changes.send(Ok(Arc::new(change)))),
                Ok(None) => break None,
                Err(status) => break Some(status),
            },
            () = changes.closed() => {
                let Some(current) = current.upgrade() else {
                    return;
                };
                let mut current = current.lock().await;
                if changes.receiver_count() == 0 {
                    current.changes = None;
                    return;
                }
            }
        }
    };
    // A follower that comes now needs a new call.
    if let Some(current) = current.upgrade() {
        current.lock().await.changes = None;
    }
    if let Some(status) = end {
        drop(changes.send(Err(status)));
    }
}

impl Following {
    /// The next change, or why the changes have ended. Safe to cancel.
    pub(crate) async fn next(&mut self) -> Result<Arc<FollowRunsResponse>, End> {
        match self.0.recv().await {
            Ok(Ok(change)) => Ok(change),
            Ok(Err(status)) => Err(End::Failed(status)),
            Err(RecvError::Lagged(lost)) => Err(End::Behind(lost)),
            Err(RecvError::Closed) => Err(End::Over),
        }
    }
}
