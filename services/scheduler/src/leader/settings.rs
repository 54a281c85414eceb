//! Settings in force: the leader compares the settings that workers report, decides which are in force, and
//! notes which workers have them (docs/configuration.md#settings-of-the-workers).

mod differences;
mod round;
mod unsettled;

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use cts_core::settings::{SettingsScope, SettingsTimeouts};
use cts_core::{Chain, Digest, LeaderEpoch, TaskDefinition, TaskName};
use cts_store::{LeaderError, Store};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use self::differences::Differences;
pub(crate) use self::differences::other_settings;
use self::round::{AbsentSince, Round};
use crate::leader::term::Term;
use crate::liveness::FORGOTTEN_AFTER;
use crate::notifier::Notifier;
use crate::options::Workers;

/// Time between two rounds without a notification.
const EVERY: Duration = Duration::from_secs(1);

/// Shortest time between two looks, in which heartbeats gather.
const GATHER: Duration = Duration::from_millis(20);

/// Tasks of a scope that are remembered: one to name, and some whose runs may show the identity of the settings
/// in earlier versions.
const REMEMBERED: usize = 20;

/// The settings in force of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) number: u64,
    pub(crate) identity: Digest,
}

type Known = HashMap<SettingsScope, InForce>;

/// The scopes that tasks use, with some of these tasks.
type Used = BTreeMap<SettingsScope, BTreeSet<TaskName>>;

/// The scopes of the tasks that the leader plans.
#[derive(Debug, Default)]
struct UsedScopes {
    scopes: Mutex<Used>,
    /// Notified when a scope is added.
    more: Notify,
}

/// The settings in force, as far as they are known.
#[derive(Debug)]
pub(crate) struct SettingsInForce {
    known: Arc<Known>,
    newer: watch::Receiver<Arc<Known>>,
    used: Arc<UsedScopes>,
}

impl SettingsInForce {
    /// The settings for the runs of a task. `None` while they are not known; [`Self::changed`] reports when
    /// they are.
    pub(crate) fn of(&self, definition: &TaskDefinition) -> Option<InForce> {
        let scope = SettingsScope::of(definition);
        let in_force = self.known.get(&scope).copied();
        let mut scopes = self.used.scopes.lock();
        let tasks = scopes.entry(scope).or_default();
        if tasks.is_empty() {
            self.used.more.notify_one();
        }
        if tasks.len() < REMEMBERED {
            tasks.insert(definition.name.clone());
        }
        in_force
    }

    /// Waits until more or other settings are in force, and returns the scopes in which they differ. Cancel
    /// safe.
    pub(crate) async fn changed(&mut self) -> HashSet<SettingsScope> {
        if self.newer.changed().await.is_err() {
            // The term is over.
            std::future::pending::<Infallible>().await;
        }
        let newer = Arc::clone(&self.newer.borrow_and_update());
        let before = std::mem::replace(&mut self.known, newer);
        let now = self.known.iter();
        let changed = now.filter(|(scope, now)| before.get(*scope).is_some_and(|was| was != *now));
        changed.map(|(scope, _now)| scope.clone()).collect()
    }
}

/// Decides which settings are in force, for as long as it is polled.
#[derive(Debug)]
pub(crate) struct SettingsKeeper {
    store: Arc<dyn Store>,
    notifier: Arc<Notifier>,
    workers: Workers,
    used: Arc<UsedScopes>,
    known: watch::Sender<Arc<Known>>,
    absences: AbsentSince,
    differences: Differences,
}

impl SettingsKeeper {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        notifier: &Arc<Notifier>,
        workers: Workers,
    ) -> (Self, SettingsInForce) {
        let (known, newer) = watch::channel(Arc::default());
        let used = Arc::<UsedScopes>::default();
        let in_force = SettingsInForce {
            known: Arc::default(),
            newer,
            used: Arc::clone(&used),
        };
        let keeper = Self {
            store: Arc::clone(store),
            notifier: Arc::clone(notifier),
            workers,
            used,
            known,
            absences: AbsentSince::default(),
            differences: Differences::default(),
        };
        (keeper, in_force)
    }

    /// Keeps them for a term until it is dropped.
    pub(crate) async fn keep(mut self, term: &Term) -> Infallible {
        let notifier = Arc::clone(&self.notifier);
        let used = Arc::clone(&self.used);
        let mut failing = false;
        loop {
            let epoch = term.in_force().await;
            match self.look(epoch).await {
                Ok(()) => failing = false,
                Err(LeaderError::Deposed { .. }) => term.end(epoch),
                Err(LeaderError::Store(error)) => {
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(error = %Chain(&error), "cannot see which settings workers have, trying again");
                    }
                }
            }
            tokio::time::sleep(GATHER).await;
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                () = notifier.settings.notified(), if !failing => {}
                () = used.more.notified(), if !failing => {}
            }
        }
    }

    async fn look(&mut self, epoch: LeaderEpoch) -> Result<(), LeaderError> {
        let mut used = self.used_scopes();
        let generations = self.store.settings().await?;
        let workers = self.store.workers(FORGOTTEN_AFTER).await?;
        let mut round = Round::new(generations, workers);
        let unsettled = self.unsettled(&round).await?;
        unsettled::add_scopes(&mut used, &unsettled);
        for (scope, tasks) in &used {
            if round.is_new(scope) {
                let identity = self.earlier_identity(tasks).await?;
                round.begin(scope, identity);
            }
        }
        let patience = match self.workers {
            Workers::Own => SettingsTimeouts::NONE,
            Workers::Others => SettingsTimeouts::CLUSTER,
        };
        round.decide(&mut self.absences, patience, Instant::now());
        round.assign(&unsettled);
        if !round.change.is_empty() {
            self.store.change_settings(epoch, &round.change).await?;
            // A worker may get waiting runs.
            self.notifier.queue_changed();
        }
        round.log(&used, &mut self.differences);
        round.log_assigned(&unsettled);
        let known = match self.workers {
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
        Ok(())
    }

    fn used_scopes(&self) -> Used {
        let scopes = self.used.scopes.lock();
        scopes.clone()
    }
}
