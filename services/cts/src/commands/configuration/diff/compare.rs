//! Compares the tasks of a configuration with the stored tasks.

use std::collections::BTreeMap;

use cts_config::Config;
use cts_core::brake::FleetMaxShrink;
use cts_core::{
    ApprovalDefaults, ConfigurationFingerprint, Digest, TaskName, TaskOrigin, TaskSpec,
};
use cts_store::declared::{DeclaredTask, DeclaredTasks, InForce};

use super::members::{Member, differences};

/// Everything that is not the same.
#[derive(Debug)]
pub(in crate::commands::configuration) struct Comparison {
    pub(super) in_force: Option<InForce>,
    /// Whether the configuration itself is in force.
    pub(in crate::commands::configuration) is_in_force: bool,
    /// Tasks of the configuration in order, then the tasks that are only stored.
    pub(super) tasks: Vec<(TaskName, Difference)>,
    /// The brake of the fleet, and the default rule of approval, if they differ.
    pub(super) brake: Option<InBoth<Option<FleetMaxShrink>>>,
    pub(super) approvals: Option<InBoth<ApprovalDefaults>>,
}

/// A setting that differs.
#[derive(Debug)]
pub(super) struct InBoth<T> {
    pub(super) in_force: T,
    pub(super) configured: T,
}

impl<T: PartialEq> InBoth<T> {
    fn compare(in_force: T, configured: T) -> Option<Self> {
        (in_force != configured).then_some(Self {
            in_force,
            configured,
        })
    }
}

/// How one task differs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// Only the configuration has it.
    Added {
        /// The API has deleted the task, and its declaration in the configuration has not changed since.
        deleted: bool,
    },
    /// Only the store has it.
    Stored(TaskOrigin),
    /// Only the store has the task, from the API, and the task is to be deleted.
    Pruned,
    /// Both the configuration and the store have the task.
    Changed {
        /// Origin of the last declaration of the stored task.
        origin: TaskOrigin,
        /// Whether the declaration in the configuration is the one that took effect last, so that the API has changed
        /// the task.
        by_api: bool,
        members: Vec<Member>,
    },
}

impl Difference {
    /// Whether this counts as a difference: every configuration keeps tasks that were made over the API.
    const fn counts(&self) -> bool {
        !matches!(self, Self::Stored(TaskOrigin::Api))
    }
}

impl Comparison {
    /// With `prune`, tasks of the API that the configuration does not name are deleted.
    pub(super) fn of(
        config: &Config,
        stored: &DeclaredTasks,
        prune: bool,
    ) -> Result<Self, serde_json::Error> {
        let mut left: BTreeMap<&TaskName, &DeclaredTask> = stored
            .tasks
            .iter()
            .map(|row| (row.spec.name(), row))
            .collect();
        let configured = &config.tasks;
        let mut tasks = Vec::new();
        for task in configured {
            let name = task.name();
            let declaration = task.declaration()?;
            let difference = match left.remove(name) {
                None => Some(Difference::Added {
                    deleted: stored.deleted.get(name.as_str()) == Some(&declaration),
                }),
                Some(row) => changed(task, declaration, row)?,
            };
            tasks.extend(difference.map(|difference| (name.clone(), difference)));
        }
        let only_stored = stored.tasks.iter().filter_map(|row| {
            let name = row.spec.name();
            let difference = match row.origin {
                TaskOrigin::Api if prune => Difference::Pruned,
                origin => Difference::Stored(origin),
            };
            left.contains_key(name).then(|| (name.clone(), difference))
        });
        tasks.extend(only_stored);
        let own = ConfigurationFingerprint::of(configured)?;
        let in_force = stored.in_force.clone();
        let fingerprint = in_force
            .as_ref()
            .and_then(|in_force| in_force.fingerprint.as_ref());
        let brake = in_force.as_ref().and_then(|it| it.fleet_max_shrink);
        let brake = InBoth::compare(brake, config.fleet_max_shrink);
        let approvals = in_force.as_ref().map(|it| it.approvals);
        let approvals = InBoth::compare(approvals.unwrap_or_default(), config.approvals);
        Ok(Self {
            is_in_force: brake.is_none()
                && approvals.is_none()
                && fingerprint.is_some_and(|fingerprint| fingerprint.agrees_with(&own)),
            in_force,
            tasks,
            brake,
            approvals,
        })
    }

    /// Number of the configuration that is in force; zero for none.
    pub(in crate::commands::configuration) fn number(&self) -> u64 {
        self.in_force.as_ref().map_or(0, |in_force| in_force.number)
    }

    pub(in crate::commands::configuration) fn is_equal(&self) -> bool {
        self.has_equal_tasks() && self.brake.is_none() && self.approvals.is_none()
    }

    pub(super) fn has_equal_tasks(&self) -> bool {
        !self.tasks.iter().any(|(_, difference)| difference.counts())
    }
}

fn changed(
    task: &TaskSpec,
    declaration: Digest,
    row: &DeclaredTask,
) -> Result<Option<Difference>, serde_json::Error> {
    let members = differences(&row.spec, task)?;
    if members.is_empty() && row.origin == TaskOrigin::Config {
        return Ok(None);
    }
    let same = row.origin == TaskOrigin::Config && row.configured == Some(declaration);
    // Files of its module are not declared: they have changed since.
    let declared = members.iter().any(|member| !member.is_content());
    Ok(Some(Difference::Changed {
        origin: row.origin,
        by_api: same && declared,
        members,
    }))
}
