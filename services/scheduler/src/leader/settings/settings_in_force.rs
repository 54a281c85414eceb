//! The settings in force, and the scopes that tasks use.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use cts_core::settings::SettingsScope;
use cts_core::{Digest, TaskDefinition, TaskName};
use cts_store::UnsettledRun;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// The settings in force of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) number: u64,
    pub(crate) identity: Digest,
}

pub(super) type KnownSettings = HashMap<SettingsScope, InForce>;

/// The scopes that tasks use, each with one of these tasks.
pub(super) type Used = BTreeMap<SettingsScope, TaskName>;

/// The scopes of the tasks that the leader plans.
#[derive(Debug, Default)]
pub(super) struct UsedScopes {
    pub(super) scopes: Mutex<Used>,
    /// Notified when a scope is added.
    pub(super) more: Notify,
}

/// The settings in force, as far as they are known.
#[derive(Debug)]
pub(crate) struct SettingsInForce {
    pub(super) known: Arc<KnownSettings>,
    pub(super) newer: watch::Receiver<Arc<KnownSettings>>,
    pub(super) used: Arc<UsedScopes>,
}

impl SettingsInForce {
    /// The settings for the runs of a task. `None` while they are not known; [`Self::changed`] reports when
    /// they are.
    pub(crate) fn of(&self, definition: &TaskDefinition) -> Option<InForce> {
        let scope = SettingsScope::of(definition);
        let in_force = self.known.get(&scope).copied();
        let mut scopes = self.used.scopes.lock();
        scopes.entry(scope).or_insert_with(|| {
            self.used.more.notify_one();
            definition.name.clone()
        });
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

/// Adds the blocks that these runs use to the blocks that tasks use.
pub(super) fn add_scopes(used: &mut Used, unsettled: &[(UnsettledRun, SettingsScope)]) {
    for (run, scope) in unsettled {
        used.entry(scope.clone())
            .or_insert_with(|| run.task.clone());
    }
}
