//! The configuration of this member, and the configuration in force.
//!
//! Task blocks take effect when a member starts and all live members then have the same; a takeover changes
//! nothing. The leader brings the configuration in force into the tasks, whichever member's start has decided
//! it.
//!
//! * Each member registers its task blocks when it starts, or reads its files again. The blocks include the content of
//!   local modules, which the member packs for the workers. If all members that were seen within `session_ttl` have
//!   registered the same blocks, the same transaction puts these in force.
//! * Members that may be dead are waited for this long. A takeover, a crash and a leave decide nothing. If no
//!   configuration is stored, the file of the first leader counts.
//! * The brake of the fleet and the default rule of approval take effect with the task blocks. Members compare their
//!   texts, which are among their settings.
//! * When the number of the configuration in force changes, the leader updates the stored tasks, logs each changed
//!   task, and begins with a new planner.

pub(crate) mod compatibility;
mod file_tasks;
mod report;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cts_core::brake::FleetMaxShrink;
use cts_core::{ApprovalDefaults, ConfigurationFingerprint, LeaderEpoch, TaskSpec, Verdict};
use cts_store::{
    APPROVALS, Configuration, ConfigurationInForce, FLEET_MAX_SHRINK, LeaderError, Member,
    PendingDeletions, Registered, Store, StoreError,
};
use tokio::time::sleep;

use crate::notifier::Notifier;
use crate::tasks::modules::{Modules, NamedBy};

pub use self::file_tasks::FileTasks;
pub(crate) use self::report::list_differences;
pub(crate) use self::watch::watch;

/// Time between two polls of the configuration in force.
const POLL: Duration = Duration::from_secs(1);

/// Longest time between two polls for the configuration in force: its members write it without hints.
const LONGEST_POLL: Duration = Duration::from_secs(8);

/// Starts of a program that is started over and over do not try a failed task again more often than this.
const RETRIED_AT_MOST_EVERY: Duration = Duration::from_mins(10);

/// Attempts to register within the life of the leadership.
const POLLS_OF_OTHERS: u32 = 10;

/// The configuration that this member has registered.
#[derive(Debug, Clone)]
pub(crate) struct OwnConfiguration {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) member: Member,
    pub(crate) time_to_live: Duration,
    pub(crate) configuration: Arc<Configuration>,
}

impl OwnConfiguration {
    /// Packs the modules of `tasks` for the workers, so that any leader can hand them out.
    pub(crate) async fn read(
        store: Arc<dyn Store>,
        member: Member,
        time_to_live: Duration,
        modules: &Modules,
        tasks: &[TaskSpec],
        mut settings: BTreeMap<String, String>,
        (fleet_max_shrink, approvals): (Option<FleetMaxShrink>, ApprovalDefaults),
    ) -> Result<Self, StoreError> {
        // The settings may be those of files that had them.
        settings.remove(FLEET_MAX_SHRINK);
        settings.remove(APPROVALS);
        settings.extend(brake_text(fleet_max_shrink).map(|text| (FLEET_MAX_SHRINK.into(), text)));
        settings.extend(approvals_text(approvals).map(|text| (APPROVALS.into(), text)));
        let stored = store.tasks().await?;
        let tasks = modules.pack(&*store, tasks, &stored, NamedBy::File).await?;
        let fingerprint = ConfigurationFingerprint::of(&tasks).map_err(not_encoded)?;
        Ok(Self {
            store,
            member,
            time_to_live,
            configuration: Arc::new(Configuration {
                tasks,
                fingerprint,
                settings,
                fleet_max_shrink,
                approvals,
            }),
        })
    }

    /// Registers it, and returns the outcome. Repeated while members that may be dead are waited for.
    pub(crate) async fn register(&self) -> Result<Registered, StoreError> {
        let life = self.time_to_live;
        self.store
            .register_configuration(&self.member, &self.configuration, life)
            .await
    }

    /// Time between two attempts to register.
    pub(crate) fn pause(&self) -> Duration {
        (self.time_to_live / POLLS_OF_OTHERS).min(POLL)
    }

    /// Like [`OwnConfiguration::register`], until the outcome is certain.
    pub(crate) async fn register_for_good(&self) -> Result<Registered, StoreError> {
        loop {
            let registered = self.register().await?;
            if registered.verdict != Verdict::Open {
                return Ok(registered);
            }
            sleep(self.pause()).await;
        }
    }

    /// The configuration in force; this member's configuration if none is stored.
    pub(crate) async fn in_force(
        &self,
        epoch: LeaderEpoch,
    ) -> Result<ConfigurationInForce, LeaderError> {
        match self.store.configuration_in_force().await? {
            Some(in_force) => Ok(in_force),
            None => self.adopt(epoch, false).await,
        }
    }

    /// Puts this member's configuration in force, regardless of the other members' registrations; without `replace`
    /// only if no configuration is in force.
    pub(crate) async fn adopt(
        &self,
        epoch: LeaderEpoch,
        replace: bool,
    ) -> Result<ConfigurationInForce, LeaderError> {
        self.store
            .adopt_configuration(epoch, &self.member, &self.configuration, replace)
            .await
    }

    /// Applies the configuration in force to the tasks, and logs every changed task.
    pub(crate) async fn bring_in(
        &self,
        epoch: LeaderEpoch,
        in_force: &ConfigurationInForce,
    ) -> Result<PendingDeletions, LeaderError> {
        let before = self.store.tasks().await?;
        let unfinished = self
            .store
            .replace_config_tasks(epoch, &in_force.tasks)
            .await?;
        let after = self.store.tasks().await?;
        report::log_changes(&before, &after);
        report::log_destructions(&after, &in_force.tasks);
        Ok(unfinished)
    }

    /// Makes failed tasks due because this member was started. The caller checks whether its configuration is in force;
    /// declared changes wait until they have taken effect.
    pub(crate) async fn retry_failed_now(&self) -> Result<(), StoreError> {
        for task in self.store.retry_failed_now(RETRIED_AT_MOST_EVERY).await? {
            tracing::info!(target: "ctrl", task_name = %task, "a failed task is tried again because the program was started");
        }
        Ok(())
    }

    /// Waits until a configuration with a number other than `number` is in force. Cancel safe.
    pub(crate) async fn changed(&self, number: u64, notifier: &Notifier) {
        let mut seen = None;
        let mut written = notifier.writes();
        // The configuration may have changed between the read of `number` and this call.
        let mut pause = POLL;
        loop {
            tokio::select! {
                () = sleep(pause) => {}
                Ok(()) = written.changed() => {}
            }
            pause = POLL;
            // If the read fails, the next round repeats it.
            let Ok(version) = self.store.configuration_version().await else {
                continue;
            };
            if seen.as_ref() == Some(&version) {
                pause = notifier.poll(POLL).min(LONGEST_POLL);
                continue;
            }
            if let Ok(in_force) = self.store.configuration_in_force().await {
                seen = Some(version);
                pause = notifier.poll(POLL).min(LONGEST_POLL);
                if in_force.is_some_and(|in_force| in_force.number != number) {
                    return;
                }
            }
        }
    }
}

/// Whether the brake of the fleet that a member has registered is the one in force.
pub(crate) fn has_brake_in_force(
    settings: &BTreeMap<String, String>,
    in_force: &ConfigurationInForce,
) -> bool {
    settings.get(FLEET_MAX_SHRINK) == brake_text(in_force.fleet_max_shrink).as_ref()
}

/// The text by which members compare the brake of the fleet; `None` while it is off.
pub(crate) fn brake_text(brake: Option<FleetMaxShrink>) -> Option<String> {
    brake.map(|brake| brake.to_string())
}

/// Whether the default rule of approval that a member has registered is the one in force.
pub(crate) fn has_approvals_in_force(
    settings: &BTreeMap<String, String>,
    in_force: &ConfigurationInForce,
) -> bool {
    settings.get(APPROVALS) == approvals_text(in_force.approvals).as_ref()
}

/// The text by which members compare the default rule of approval; `None` while that is the usual one.
pub(crate) fn approvals_text(approvals: ApprovalDefaults) -> Option<String> {
    (approvals != ApprovalDefaults::default()).then(|| approvals.to_string())
}

fn not_encoded(error: serde_json::Error) -> StoreError {
    StoreError::Database {
        operation: "encode a configuration",
        source: error.into(),
    }
}
