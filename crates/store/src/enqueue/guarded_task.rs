//! A task under its shrink limit. For implementations.

use cts_core::{Baseline, Blocked, Content, Digest, InstanceCounts, TaskSpec};

use crate::error::StoreError;
use crate::fields::{Columns, Fields};

/// Stored state of a task's shrink limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardChange {
    /// Why its newest input is not applied.
    pub held: Option<Blocked>,
    /// Part of a release that is not applied yet.
    pub released: Option<InstanceCounts>,
    /// Forgets the applied instances, because the task has no shrink limit to compare them with.
    pub forgets: bool,
}

/// Counts the instances in a stored input that was queued while its task had no shrink limit. `None` if they cannot
/// be counted.
pub fn instances_of(hashes: &[Digest], contents: &[Content]) -> Option<InstanceCounts> {
    let bytes = hashes.iter().map(|hash| {
        let content = contents.iter().find(|content| content.hash == *hash)?;
        Some(content.bytes.as_slice())
    });
    let bytes: Option<Vec<&[u8]>> = bytes.collect();
    InstanceCounts::of_contents(bytes?)
}

/// Reads a row with `applied_instances`, `running_instances` and `released_instances`.
pub(super) fn baseline(row: &Fields<'_>) -> Result<Baseline, StoreError> {
    Ok(Baseline {
        applied: row.json_if_any("applied_instances")?,
        running: row.json_if_any("running_instances")?,
        released: row.json_if_any("released_instances")?,
    })
}

/// State of a task under the shrink limit, to be reevaluated at the end of an attempt.
#[derive(Debug)]
pub struct GuardedTask {
    spec: String,
    baseline: Baseline,
    held: Option<Blocked>,
}

impl GuardedTask {
    /// Reads a row of `tasks` with `spec`, `held`, `applied_instances`, `running_instances` and
    /// `released_instances`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let task = Fields::new(row, "look at a guard", "tasks").keyed("name")?;
        Ok(Self {
            spec: task.text("spec")?.to_owned(),
            baseline: baseline(&task)?,
            held: task.json_if_any("held")?,
        })
    }

    /// Reevaluates the shrink limit and returns the change to write, if any.
    pub fn again(&self) -> Option<GuardChange> {
        // A spec that cannot be decoded was written by a program with a different definition of a task; the next
        // input decides.
        let guard = serde_json::from_str::<TaskSpec>(&self.spec)
            .ok()?
            .file_settings
            .guard;
        let baseline = Baseline {
            released: self.baseline.settled(guard),
            ..self.baseline.clone()
        };
        let held = self.held.as_ref();
        let held = held.and_then(|held| held.again(guard, &baseline));
        let is_other = held != self.held || baseline.released != self.baseline.released;
        is_other.then_some(GuardChange {
            held,
            released: baseline.released,
            forgets: false,
        })
    }

    /// Values to store at a release: the block that ends, and the baseline.
    pub fn release(self) -> Option<(Blocked, Baseline)> {
        let blocked = self.held?;
        let baseline = self.baseline.release(&blocked);
        Some((blocked, baseline))
    }
}
