//! The loop that turns changes and requests into queued runs: one desk, one writer.

mod freeze;
mod look;

use std::sync::Arc;
use std::time::Duration;

use cts_core::{Clock, LeaderEpoch};
use cts_rpc::Peers;
use cts_store::{Store, Unchanged};
use tokio::time::Instant;

use self::look::Looks;
use crate::campaign::TenureEnd;
use crate::changes::Changes;
use crate::desk::Desk;
use crate::explain::Journal;
use crate::following::Following;
use crate::identities::Identities;
use crate::mode::{Mode, Round};
use crate::recent_inputs::RecentInputs;
use crate::scheduler::SettingsDigest;

/// Wait before what could not be stored is tried again.
const STORE_RETRY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Duty {
    pub(crate) desk: Desk,
    pub(crate) epoch: LeaderEpoch,
    pub(crate) mode: Mode,
    pub(crate) round: Arc<Round>,
    /// What the first input of each task means that is applied already.
    pub(crate) first_pass: Unchanged,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) watchers: Peers,
    pub(crate) identities: Arc<dyn Identities>,
    pub(crate) settings_digest: SettingsDigest,
    pub(crate) changes: Arc<Changes>,
    pub(crate) recent_inputs: Arc<RecentInputs>,
    pub(crate) clock: Arc<dyn Clock>,
    /// How long requests wait for a complete input.
    pub(crate) input_patience: Duration,
    pub(crate) started: Instant,
}

impl Duty {
    /// Works until the epoch is over, or until a write to the store has failed.
    pub(crate) async fn run(mut self) -> TenureEnd {
        // In a mode with one round the tasks are those of the beginning.
        let dynamic = !self.mode.is_one_round();
        if self.desk.is_empty() {
            tracing::info!(target: "ctrl", "no enabled tasks are configured");
            if !dynamic {
                return std::future::pending().await;
            }
        }
        let mut following = Following::new(&self.watchers, self.desk.views());
        let mut looks = Looks::begin(Instant::now());
        let base = self.clock.now() - self.started.elapsed();
        let store = Arc::clone(&self.store);
        let mut journal = Journal::new(self.epoch, store, base, Instant::now());
        let changes = Arc::clone(&self.changes);
        loop {
            let due = self.desk.next_due();
            tokio::select! {
                (view, delta) = following.next() => {
                    if let Err(error) = self.desk.observe(&view, delta, self.started.elapsed()) {
                        tracing::debug!(view.id = %view, error = %error, "a delta does not fit");
                        following.again(&view);
                    }
                }
                () = sleep_until(self.started, due) => {}
                () = changes.tasks.notified(), if dynamic => {
                    looks.hint(Instant::now());
                    continue;
                }
                () = tokio::time::sleep_until(looks.next()), if dynamic => {
                    self.look(&mut following, &mut looks).await;
                }
                () = journal.write(), if dynamic => {
                    let now = self.clock.now();
                    journal.note(self.desk.changes(), self.desk.outlines(), now);
                    continue;
                }
            }
            if let Err(end) = self.carry_out().await {
                return end;
            }
        }
    }
}

async fn sleep_until(started: Instant, due: Option<Duration>) {
    match due {
        Some(due) => tokio::time::sleep_until(started + due).await,
        None => std::future::pending().await,
    }
}
