//! Settings in force: the leader compares the settings that workers report, decides which are in force, and
//! notes which workers have them (docs/configuration.md#settings-of-the-workers).
//!
//! The lease of a run checks these notes. A generation never changes, so a note cannot be wrong, only missing for a
//! second, in a process with the only worker for some seconds.

mod differences;
mod round;
mod settings_in_force;
mod unsettled;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use cts_core::settings::SettingsTimeouts;
use cts_core::{Chain, LeaderEpoch};
use cts_runtime::Outage;
use cts_store::LeaderError;
use tokio::sync::watch;
use tokio::time::Instant;

use self::differences::Differences;
pub(crate) use self::differences::other_settings;
use self::round::{AbsentSince, Round};
pub(crate) use self::settings_in_force::{InForce, SettingsInForce};
use self::settings_in_force::{KnownSettings, Used, UsedScopes, add_scopes};
use crate::leader::leader_context::LeaderContext;
use crate::liveness::FORGOTTEN_AFTER;
use crate::options::Workers;
use crate::term::Term;

/// Time between two rounds without a notification, where heartbeats may reach another replica.
const EVERY: Duration = Duration::from_secs(1);

/// Time between two rounds without a notification while a run is open, where all heartbeats reach this process.
const EVERY_OPEN: Duration = Duration::from_secs(3);

/// Time between two rounds without a notification while no run is open, where all heartbeats reach this process but
/// hints of other replicas may be lost.
const EVERY_IDLE: Duration = Duration::from_secs(8);

/// Shortest time between two looks, in which heartbeats gather.
const GATHER: Duration = Duration::from_millis(20);

/// Decides which settings are in force, for as long as it is polled.
#[derive(Debug)]
pub(crate) struct SettingsKeeper {
    context: Arc<LeaderContext>,
    used: Arc<UsedScopes>,
    known: watch::Sender<Arc<KnownSettings>>,
    absences: AbsentSince,
    differences: Differences,
}

impl SettingsKeeper {
    pub(crate) fn new(context: &Arc<LeaderContext>) -> (Self, SettingsInForce) {
        let (known, newer) = watch::channel(Arc::default());
        let used = Arc::<UsedScopes>::default();
        let in_force = SettingsInForce {
            known: Arc::default(),
            newer,
            used: Arc::clone(&used),
        };
        let keeper = Self {
            context: Arc::clone(context),
            used,
            known,
            absences: AbsentSince::default(),
            differences: Differences::default(),
        };
        (keeper, in_force)
    }

    /// Keeps them for a term until it is dropped.
    pub(crate) async fn keep(mut self, term: &Term) -> Infallible {
        let context = Arc::clone(&self.context);
        let used = Arc::clone(&self.used);
        let mut outage = Outage::default();
        loop {
            let epoch = term.in_force().await;
            let mut pause = EVERY;
            match self.compare(epoch).await {
                Ok(changed) => {
                    outage.works();
                    pause = self.pause(changed).await;
                }
                Err(LeaderError::Deposed { .. }) => term.end(epoch),
                Err(LeaderError::Store(error)) => {
                    if outage.fails() {
                        cts_store::log_store_failure!(warn, &error, error = %Chain(&error), "cannot see which settings workers have, trying again");
                    }
                }
            }
            tokio::time::sleep(GATHER).await;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = context.notifier.settings.notified(), if !outage.is_on() => {}
                () = used.more.notified(), if !outage.is_on() => {}
            }
        }
    }

    /// Time until the next round. After a change of the settings, runs may be queued that the round has not seen.
    async fn pause(&self, changed: bool) -> Duration {
        match self.context.workers {
            Workers::Others => EVERY,
            Workers::Own if changed => EVERY,
            Workers::Own => match self.context.store.has_open_runs().await {
                Ok(false) => self.context.notifier.poll(EVERY_IDLE),
                Ok(true) | Err(_) => EVERY_OPEN,
            },
        }
    }

    /// Returns whether the settings have changed.
    async fn compare(&mut self, epoch: LeaderEpoch) -> Result<bool, LeaderError> {
        let mut used = self.used_scopes();
        let generations = self.context.store.settings().await?;
        let workers = self.context.store.workers(FORGOTTEN_AFTER).await?;
        let mut round = Round::new(generations, workers);
        let unsettled = self.unsettled(&round).await?;
        add_scopes(&mut used, &unsettled);
        for scope in used.keys() {
            if round.is_new(scope) {
                round.begin(scope);
            }
        }
        let timeouts = match self.context.workers {
            Workers::Own => SettingsTimeouts::NONE,
            Workers::Others => SettingsTimeouts::CLUSTER,
        };
        round.decide(&mut self.absences, timeouts, Instant::now());
        round.assign(&unsettled);
        let changed = !round.change.is_empty();
        if changed {
            self.context
                .store
                .change_settings(epoch, &round.change)
                .await?;
            // A worker may get waiting runs.
            self.context.notifier.queue_changed();
        }
        round.log(&used, &mut self.differences);
        round.log_assigned(&unsettled);
        let known = match self.context.workers {
            Workers::Own => round.in_force(|scope| round.is_had(scope)),
            Workers::Others => round.in_force(|_scope| true),
        };
        self.known.send_if_modified(|before| {
            let is_other = **before != known;
            if is_other {
                *before = Arc::new(known);
            }
            is_other
        });
        Ok(changed)
    }

    fn used_scopes(&self) -> Used {
        let scopes = self.used.scopes.lock();
        scopes.clone()
    }
}
