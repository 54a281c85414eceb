//! Views: what is watched in Consul, and what was last seen of it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::service::{InstanceKey, ServiceInstance};

/// The instances of one service name: one dependency, one blocking query, however many tasks use it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServiceView {
    /// Service name as configured; Consul compares it without regard to case.
    pub name: String,
    /// Datacenter, empty for the agent's own.
    pub datacenter: String,
    /// Consul Enterprise namespace, empty for the token's.
    pub namespace: String,
    /// Consul filter expression, without leading and trailing newlines.
    pub filter: String,
}

/// Text that identifies a view; equal views have equal ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ViewId(String);

impl ViewId {
    /// Wraps a received id.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ServiceView {
    /// The view's id, in the form that the logs of the original use (docs/runs.md#views-and-blocking-queries). What
    /// would make the ids of two views equal is percent-encoded.
    pub fn id(&self) -> ViewId {
        let mut text = format!("health.service({}", unambiguous(&self.name));
        if !self.datacenter.is_empty() {
            text.push('@');
            text.push_str(&unambiguous(&self.datacenter));
        }
        let namespace = unambiguous(&self.namespace);
        // The filter stands last, so nothing can follow it.
        let options = [("ns", namespace.as_str()), ("filter", &self.filter)];
        let mut separator = '?';
        for (key, value) in options {
            if !value.is_empty() {
                text.push(separator);
                text.push_str(key);
                text.push('=');
                text.push_str(value);
                separator = '&';
            }
        }
        text.push(')');
        ViewId(text)
    }

    /// Whether Consul is asked for passing instances only: always, unless the filter speaks of check
    /// states itself (docs/runs.md#views-and-blocking-queries).
    pub fn passing_only(&self) -> bool {
        !self.filter.contains("Checks.Status")
    }
}

/// Encodes the characters that separate the parts of an id.
fn unambiguous(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    for character in part.chars() {
        match character {
            '%' => text.push_str("%25"),
            '@' => text.push_str("%40"),
            '?' => text.push_str("%3F"),
            '&' => text.push_str("%26"),
            other => text.push(other),
        }
    }
    text
}

/// Everything seen of one view at one moment. Instances are shared, so that an old snapshot kept for
/// comparison costs only what differs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ViewSnapshot {
    /// Increases with every change of the instances; our own count, never Consul's index.
    pub revision: u64,
    /// The instances in module order.
    pub instances: BTreeMap<InstanceKey, Arc<ServiceInstance>>,
}

/// The way from one snapshot to a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDelta {
    /// Revision that this delta builds on; `None` for a full snapshot.
    pub base: Option<u64>,
    /// Revision that it leads to.
    pub revision: u64,
    /// Instances that are new or changed.
    pub upserts: Vec<Arc<ServiceInstance>>,
    /// Instances that are gone.
    pub removals: Vec<InstanceKey>,
}

/// A delta does not build on the snapshot at hand; a full one must be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the delta builds on revision {base}, but the snapshot at hand is {at_hand:?}")]
pub struct UnknownRevision {
    /// Revision that the delta builds on.
    pub base: u64,
    /// Revision of the snapshot at hand.
    pub at_hand: Option<u64>,
}

impl ViewSnapshot {
    /// A snapshot of these instances; of two with one key the later counts.
    pub fn new(revision: u64, instances: impl IntoIterator<Item = ServiceInstance>) -> Self {
        let instances = instances
            .into_iter()
            .map(|instance| (instance.key(), Arc::new(instance)))
            .collect();
        Self {
            revision,
            instances,
        }
    }

    /// What must be sent to a subscriber that has `earlier` (or nothing).
    pub fn delta_from(&self, earlier: Option<&Self>) -> ViewDelta {
        let Some(earlier) = earlier else {
            return ViewDelta {
                base: None,
                revision: self.revision,
                upserts: self.instances.values().cloned().collect(),
                removals: Vec::new(),
            };
        };
        let upserts = self
            .instances
            .iter()
            .filter(|(key, instance)| earlier.instances.get(*key) != Some(*instance))
            .map(|(_, instance)| Arc::clone(instance))
            .collect();
        let removals = earlier
            .instances
            .keys()
            .filter(|key| !self.instances.contains_key(*key))
            .cloned()
            .collect();
        ViewDelta {
            base: Some(earlier.revision),
            revision: self.revision,
            upserts,
            removals,
        }
    }

    /// The snapshot that `delta` leads to from `at_hand`.
    pub fn after(at_hand: Option<Self>, delta: ViewDelta) -> Result<Self, UnknownRevision> {
        let mut snapshot = match delta.base {
            None => Self::default(),
            Some(base) => match at_hand {
                Some(snapshot) if snapshot.revision == base => snapshot,
                other => {
                    return Err(UnknownRevision {
                        base,
                        at_hand: other.map(|s| s.revision),
                    });
                }
            },
        };
        for key in delta.removals {
            snapshot.instances.remove(&key);
        }
        for instance in delta.upserts {
            snapshot.instances.insert(instance.key(), instance);
        }
        snapshot.revision = delta.revision;
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests;
