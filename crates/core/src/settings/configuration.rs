//! The task blocks of the members' files: how they are compared, and when they take effect.
//!
//! Members are compared by their files: names, values and paths as written, and the content of local modules. The
//! content of a module whose directory is missing on a member is unknown there and counts as equal. Facts that each
//! machine finds out itself, such as the target of a relative path, are not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::engine::capability::Requirement;
use crate::spelled;
use crate::task::spec::TaskSpec;
use crate::words::digest::Digest;
use crate::words::identity::TaskName;

/// Digests by which one task block is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFingerprint {
    /// Digest of the block as written.
    pub declaration: Digest,
    /// Digest of the files of a local module; `None` without a local module, or if the module is not on this machine.
    pub content: Option<Digest>,
}

/// Digests by which the task blocks of one member are compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConfigurationFingerprint(BTreeMap<TaskName, TaskFingerprint>);

spelled! {
    /// How a task block of one configuration differs from another configuration.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TaskDifference {
        /// Only this configuration has the block.
        Added = "added",
        /// The block differs, or the content of its module.
        Changed = "changed",
        /// Only the other configuration has the block.
        Removed = "removed",
    }
}

impl ConfigurationFingerprint {
    /// Returns the fingerprint of these tasks, whose modules must be resolved already.
    pub fn of<'a>(
        tasks: impl IntoIterator<Item = &'a TaskSpec>,
    ) -> Result<Self, serde_json::Error> {
        let tasks = tasks.into_iter().map(|task| {
            let fingerprint = TaskFingerprint {
                declaration: as_written(task)?,
                content: task.definition.module_digest,
            };
            Ok((task.name().clone(), fingerprint))
        });
        Ok(Self(tasks.collect::<Result<_, _>>()?))
    }

    /// A digest of the whole fingerprint, for display. Configurations with different digests may still
    /// [agree](Self::agrees_with).
    pub fn digest(&self) -> Digest {
        let parts = self.0.iter().flat_map(|(name, task)| {
            let content = task
                .content
                .map_or_else(String::new, |digest| digest.to_string());
            [
                name.as_str().to_owned(),
                task.declaration.to_string(),
                content,
            ]
        });
        let parts: Vec<String> = parts.collect();
        Digest::of_parts(parts.iter().map(String::as_bytes))
    }

    /// The tasks that differ between this and `other`, by name.
    pub fn differences(&self, other: &Self) -> Vec<(TaskName, TaskDifference)> {
        let names: BTreeSet<&TaskName> = self.0.keys().chain(other.0.keys()).collect();
        let differences = names.into_iter().filter_map(|name| {
            let difference = match (self.0.get(name), other.0.get(name)) {
                (Some(_), None) => TaskDifference::Added,
                (None, Some(_)) => TaskDifference::Removed,
                (Some(own), Some(other)) if !own.agrees_with(other) => TaskDifference::Changed,
                _ => return None,
            };
            Some((name.clone(), difference))
        });
        differences.collect()
    }

    /// Returns whether the two configurations have no differences.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.differences(other).is_empty()
    }
}

impl TaskFingerprint {
    fn agrees_with(&self, other: &Self) -> bool {
        let contents = self.content.zip(other.content);
        self.declaration == other.declaration && contents.is_none_or(|(own, other)| own == other)
    }
}

fn as_written(task: &TaskSpec) -> Result<Digest, serde_json::Error> {
    let mut written = task.clone();
    let definition = &mut written.definition;
    definition.module_digest = None;
    definition.bundle = None;
    if Path::new(&definition.module_source).is_absolute() {
        definition.module_source.clear();
    }
    written.requirement = Requirement::default();
    Ok(Digest::of(&serde_json::to_vec(&written)?))
}

/// Completes the tasks whose local module is not on this machine with the content that a different member has for the
/// same block.
pub fn complete_modules(
    tasks: &mut [TaskSpec],
    others: &[TaskSpec],
) -> Result<(), serde_json::Error> {
    let others: BTreeMap<&TaskName, &TaskSpec> = others
        .iter()
        .filter(|other| other.definition.module_digest.is_some())
        .map(|other| (other.name(), other))
        .collect();
    let lacking = tasks.iter_mut().filter(|task| {
        let is_local = Path::new(&task.definition.module_source).is_absolute();
        is_local && task.definition.module_digest.is_none()
    });
    for task in lacking {
        if let Some(other) = others.get(task.name())
            && as_written(other)? == as_written(task)?
        {
            task.definition.module_digest = other.definition.module_digest;
            task.definition.bundle.clone_from(&other.definition.bundle);
            task.requirement.bundle = other.requirement.bundle;
            let problem = &other.requirement.unusable_module;
            task.requirement.unusable_module.clone_from(problem);
        }
    }
    Ok(())
}

/// A different member, as stored when a member registers its configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherMember {
    /// Whether its configuration agrees; `None` if the member has not registered a configuration.
    pub agrees: Option<bool>,
    /// The member was seen after the registration that is being decided.
    pub seen_since: bool,
}

/// Decision about the configuration of a member that has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All living members agree: the configuration takes effect.
    TakesEffect,
    /// Members that differ or have not registered may be dead: the decision is repeated later.
    Open,
    /// A living member differs.
    StaysOut,
}

/// Decides about a configuration, by the members that were seen within the time to live of the leadership. `waited`
/// is set when that time has passed since the member registered.
pub fn judge(others: &[OtherMember], waited: bool) -> Verdict {
    if others.iter().all(|other| other.agrees == Some(true)) {
        return Verdict::TakesEffect;
    }
    let differs = |other: &OtherMember| other.agrees == Some(false) && other.seen_since;
    if waited || others.iter().any(differs) {
        return Verdict::StaysOut;
    }
    Verdict::Open
}

#[cfg(test)]
mod tests;
