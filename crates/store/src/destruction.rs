//! Destroying runs and their stored form. For implementations.
//!
//! A program without support for destroying runs reads them as checks: a check changes nothing, and its report is
//! never taken for a plan.
//!
//! A task whose infrastructure is destroyed has the phase `deleting` and its run in `tasks.destroy_run`. The
//! transaction that deletes the task queues this run, or, if a run of the task is running, the transaction that ends
//! that run. The input is that of an earlier apply, so neither Consul nor the leader is needed.

use cts_core::RunId;
use cts_core::runs::RunKind;

use crate::cell::Cell;
use crate::error::StoreError;
use crate::task::StoredTask;

/// Fate of the infrastructure of a deleted task.
///
/// The destroying run gets the input of the newest run of the task that applied or may have applied; without such a
/// run nothing is destroyed. The destruction survives every crash, and a configuration that no longer has the task.
/// Only a deletion that retains the infrastructure, and a reset, end the destruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The infrastructure stays, even if its destruction has begun.
    Retain,
    /// The setting `on_delete` of the task decides.
    AsTaskSays {
        /// Id of the destroying run, if one is needed.
        run: RunId,
    },
}

impl Deletion {
    /// The destroying run for this task, if its infrastructure is to be destroyed.
    pub fn destroy_run(self, task: &StoredTask) -> Option<RunId> {
        match self {
            Self::AsTaskSays { run } if !task.spec.on_delete.is_retain() => Some(run),
            Self::AsTaskSays { .. } | Self::Retain => None,
        }
    }
}

/// Values of the columns `kind` and `destroys` for the kind of a run.
pub const fn stored_kind(kind: RunKind) -> (&'static str, Option<&'static str>) {
    match kind {
        RunKind::Destroy => (RunKind::Check.as_str(), Some("apply")),
        RunKind::DestroyPlan => (RunKind::Check.as_str(), Some("plan")),
        RunKind::Apply | RunKind::Plan | RunKind::Check => (kind.as_str(), None),
    }
}

/// The kind of a run, from the columns `kind` and `destroys`.
pub(crate) fn kind_of_run(
    cell: Cell<'_>,
    kind: &str,
    destroys: Option<&str>,
) -> Result<RunKind, StoreError> {
    let stored = (kind, destroys);
    let known = RunKind::ALL.into_iter();
    let mut known = known.filter(|known| stored_kind(*known) == stored);
    known.next().ok_or_else(|| cell.unknown(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_kinds_are_read_again_and_an_older_program_knows_all_of_them() {
        let cell = Cell {
            table: "runs",
            column: "kind",
            row: "1",
        };
        for kind in RunKind::ALL {
            let (stored, destroys) = stored_kind(kind);
            assert_eq!(kind_of_run(cell, stored, destroys).unwrap(), kind);
            let mut older = RunKind::ENQUEUED.into_iter();
            assert!(older.any(|kind| kind.as_str() == stored));
            assert_eq!(destroys.is_none(), RunKind::ENQUEUED.contains(&kind));
        }
        assert!(kind_of_run(cell, "apply", Some("apply")).is_err());
    }
}
