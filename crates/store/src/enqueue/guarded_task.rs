//! A task under its shrink limit. For implementations.

use chrono::{DateTime, Utc};
use cts_core::{
    Baseline, Blocked, Content, Digest, InstanceCounts, ShrinkLimit, TaskName, TaskSpec,
};

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

/// A task that the brake of the fleet may hold.
#[derive(Debug)]
pub struct BrakedTask {
    /// Its name.
    pub name: TaskName,
    task: GuardedTask,
    now: DateTime<Utc>,
}

impl BrakedTask {
    /// Reads a row as [`GuardedTask::read`] does, with the time `now`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let fields = Fields::new(row, "look at the brake", "tasks").keyed("name")?;
        Ok(Self {
            name: fields.parse("name")?,
            now: fields.time("now")?,
            task: GuardedTask::read(row)?,
        })
    }

    /// Blocks the task if an input with these counts takes instances away, by the reference of the brake.
    pub fn held_by(
        &self,
        reference: &InstanceCounts,
        counts: &InstanceCounts,
    ) -> Option<GuardChange> {
        let baseline = &self.task.baseline;
        let guard = self.task.guard().unwrap_or_default();
        let (losses, by_brake) = baseline.held(guard, Some(reference), counts);
        let known = self.task.held.as_ref();
        let held = Blocked {
            since: known.map_or(self.now, |held| held.since),
            losses,
            counts: counts.clone(),
            brake: Some(reference.within(counts)),
            causes: known.map_or_else(Vec::new, |held| held.causes.clone()),
        };
        by_brake.then(|| self.task.change(Some(held)))
    }

    /// Ends the block by the brake; that by the shrink limit stays.
    pub fn freed(&self) -> GuardChange {
        let held = self.task.held.clone().map(|held| Blocked {
            brake: None,
            ..held
        });
        let baseline = &self.task.baseline;
        let guard = self.task.guard().unwrap_or_default();
        let held = held.and_then(|held| held.again(guard, baseline));
        self.task.change(held)
    }
}

/// State of a task under the shrink limit, to be reevaluated at the end of an attempt.
#[derive(Debug)]
pub struct GuardedTask {
    spec: String,
    baseline: Baseline,
    held: Option<Blocked>,
    /// Instances in the input of its queued run, if the brake of the fleet holds that run.
    braked: Option<InstanceCounts>,
    now: Option<DateTime<Utc>>,
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
            braked: None,
            now: None,
        })
    }

    /// Reads the row of [`GuardedTask::read`] with `braked_instances`, of the queued run that the brake holds, and `now`.
    pub fn read_with_braked(row: &dyn Columns) -> Result<Self, StoreError> {
        let fields = Fields::new(row, "look at a guard", "tasks").keyed("name")?;
        Ok(Self {
            braked: fields.json_if_any("braked_instances")?,
            now: fields.time_if_any("now")?,
            ..Self::read(row)?
        })
    }

    /// The shrink limit of the task; `None` if a program with a different definition of a task wrote its spec.
    fn guard(&self) -> Option<ShrinkLimit> {
        let spec: TaskSpec = serde_json::from_str(&self.spec).ok()?;
        Some(spec.file_settings.guard)
    }

    fn change(&self, held: Option<Blocked>) -> GuardChange {
        GuardChange {
            held,
            released: self.baseline.released.clone(),
            forgets: false,
        }
    }

    /// Reevaluates the shrink limit and returns the change to write, if any.
    pub fn again(&self) -> Option<GuardChange> {
        // The next input decides about a spec of another program.
        let guard = self.guard()?;
        let baseline = Baseline {
            released: self.baseline.settled(guard),
            ..self.baseline.clone()
        };
        let held = self.held.clone().or_else(|| self.held_run());
        let held = held.and_then(|held| held.again(guard, &baseline));
        let is_other = held != self.held || baseline.released != self.baseline.released;
        is_other.then_some(GuardChange {
            held,
            released: baseline.released,
            forgets: false,
        })
    }

    /// The block of a task whose run was leased when the brake was set, and has gone back to the queue since.
    fn held_run(&self) -> Option<Blocked> {
        let counts = self.braked.clone()?;
        Some(Blocked {
            since: self.now?,
            losses: Vec::new(),
            brake: self.baseline.applied.clone(),
            counts,
            causes: Vec::new(),
        })
    }

    /// Values to store at a release: the block that ends, and the baseline.
    pub fn release(self) -> Option<(Blocked, Baseline)> {
        let blocked = self.held?;
        let baseline = self.baseline.release(&blocked);
        Some((blocked, baseline))
    }
}
