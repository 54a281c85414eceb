//! Rules for bringing the tasks of a configuration into the stored tasks. For implementations.

use std::collections::{BTreeSet, HashMap};

use cts_core::{
    Declared, DeclaredBefore, Digest, TaskName, TaskOrigin, TaskPhase, TaskSpec, Withdrawal,
    read_declaration,
};

use crate::cell::encoded;
use crate::error::StoreError;
use crate::fields::{Columns, Fields};

const OPERATION: &str = "store the configured tasks";

/// Reason with which requests are refused that a change of the configuration makes pointless.
pub const RECONFIGURED: &str = "the configuration has changed the task";

/// A stored task and its declaration.
#[derive(Debug)]
pub struct StoredDeclaration {
    name: String,
    origin: TaskOrigin,
    phase: TaskPhase,
    configured: Option<Digest>,
    revision: u64,
    spec: String,
}

impl StoredDeclaration {
    /// Reads a row of `tasks`.
    pub fn read(row: &dyn Columns) -> Result<Self, StoreError> {
        let row = Fields::new(row, OPERATION, "tasks").keyed("name")?;
        Ok(Self {
            name: row.key().to_owned(),
            origin: row.origin("origin")?,
            phase: row.phase("phase")?,
            configured: row.parse_if_any("configured")?,
            revision: row.number("revision")?,
            spec: row.text("spec")?.to_owned(),
        })
    }
}

/// Name and declaration of a task that the API deleted: a row of `deleted_tasks`.
pub fn deleted_declaration(row: &dyn Columns) -> Result<(String, Digest), StoreError> {
    let row = Fields::new(row, OPERATION, "deleted_tasks").keyed("name")?;
    Ok((row.key().to_owned(), row.parse("configured")?))
}

/// The name in a row of `tasks`.
pub fn name(row: &dyn Columns) -> Result<TaskName, StoreError> {
    let row = Fields::new(row, OPERATION, "tasks").keyed("name")?;
    row.parse("name")
}

/// Digest of a task's declaration in the configuration.
pub fn declaration(task: &TaskSpec) -> Result<Digest, StoreError> {
    task.declaration().map_err(|error| StoreError::Database {
        operation: "encode a task",
        source: Box::new(error),
    })
}

/// All stored declarations of tasks, and deletions.
#[derive(Debug)]
pub struct Declarations {
    stored: HashMap<String, StoredDeclaration>,
    deleted: HashMap<String, Digest>,
}

/// Result for one task of a configuration.
#[derive(Debug)]
pub enum Configured {
    /// The API deleted this declared task.
    StaysDeleted,
    /// The task of this name is being deleted.
    Postponed,
    /// The task stays as the API changed it, with the source location and the module that the files have now.
    Lasts {
        /// The task to store and its revision, if the task differs from the stored one.
        refreshed: Option<Box<(TaskSpec, u64)>>,
        /// Reason for withdrawing its queued apply.
        withdraws: Option<Withdrawal>,
    },
    /// The task becomes as declared, whatever was stored.
    TakesEffect {
        /// Digest of the declaration.
        declaration: Digest,
        /// The revision of the task with this name, if one is stored.
        revision: Option<u64>,
        /// Reason for withdrawing its queued apply.
        withdraws: Option<Withdrawal>,
        /// The task to store, if it keeps a rule of the API.
        keeps: Option<Box<TaskSpec>>,
    },
}

impl Declarations {
    /// Collects all stored declarations and deletions.
    pub fn new(stored: Vec<StoredDeclaration>, deleted: Vec<(String, Digest)>) -> Self {
        let stored = stored.into_iter().map(|task| (task.name.clone(), task));
        Self {
            stored: stored.collect(),
            deleted: deleted.into_iter().collect(),
        }
    }

    /// Decides the effect of the declaration `task`.
    pub fn configure(&self, task: &TaskSpec) -> Result<Configured, StoreError> {
        let name = task.name().as_str();
        let stored = self.stored.get(name);
        let declaration = declaration(task)?;
        let before = DeclaredBefore {
            stored: stored.map(|stored| (stored.origin, stored.configured)),
            deleted: self.deleted.get(name).copied(),
        };
        let declared = read_declaration(declaration, before);
        if declared == Declared::StaysDeleted {
            return Ok(Configured::StaysDeleted);
        }
        if stored.is_some_and(|stored| stored.phase == TaskPhase::Deleting) {
            return Ok(Configured::Postponed);
        }
        if declared == Declared::Lasts
            && let Some(stored) = stored
            // A spec that cannot be decoded was written by a program with a different definition of a task.
            && let Ok(spec) = serde_json::from_str::<TaskSpec>(&stored.spec)
        {
            let refreshed = spec.refreshed_by(task);
            let withdraws = spec.withdrawal(&refreshed);
            let refreshed = (refreshed != spec).then(|| Box::new((refreshed, stored.revision)));
            return Ok(Configured::Lasts {
                refreshed,
                withdraws,
            });
        }
        let before = stored.map(|stored| serde_json::from_str::<TaskSpec>(&stored.spec));
        let rule = before
            .as_ref()
            .and_then(|it| it.as_ref().ok()?.api_approval);
        let keeps = rule.map(|rule| {
            Box::new(TaskSpec {
                api_approval: Some(rule),
                ..task.clone()
            })
        });
        let text = encoded("encode a task", keeps.as_deref().unwrap_or(task))?;
        let revision =
            |stored: &StoredDeclaration| stored.revision + u64::from(stored.spec != text);
        Ok(Configured::TakesEffect {
            declaration,
            revision: stored.map(revision),
            withdraws: before.and_then(|before| {
                before.map_or(Some(Withdrawal::OtherDefinition), |before| {
                    before.withdrawal(task)
                })
            }),
            keeps,
        })
    }

    /// Returns the tasks with runs that may be withdrawn from the queue as soon as `tasks` take effect.
    pub fn unsettled(&self, tasks: &[TaskSpec]) -> Result<BTreeSet<String>, StoreError> {
        let mut unsettled: BTreeSet<String> = self
            .stored
            .values()
            .filter(|stored| stored.origin == TaskOrigin::Config)
            .map(|stored| stored.name.clone())
            .collect();
        for task in tasks {
            let name = task.name().as_str();
            unsettled.remove(name);
            if let Configured::Lasts { withdraws, .. } | Configured::TakesEffect { withdraws, .. } =
                self.configure(task)?
                && withdraws.is_some()
            {
                unsettled.insert(name.to_owned());
            }
        }
        Ok(unsettled)
    }
}
