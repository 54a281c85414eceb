//! The permitted actions of a run on the server, by its kind. Everything that differs between checks, plans and applies
//! there follows from this.

use cts_core::runs::RunKind;

/// How far a run reaches on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Reads only: a check.
    Looks,
    /// Requests a remote run that only plans. Workspace, variables, applicable configuration versions and other remote
    /// runs stay as they are. A workspace that is missing is made for the plan, and goes with it.
    Plans,
    /// Brings workspace, variables and configuration into step, and ends earlier remote runs of the task.
    Changes,
}

impl Reach {
    pub(crate) const fn of(kind: RunKind) -> Self {
        match kind {
            RunKind::Check => Self::Looks,
            RunKind::Plan | RunKind::DestroyPlan => Self::Plans,
            RunKind::Apply | RunKind::Destroy => Self::Changes,
        }
    }

    /// Whether settings, tags and variables of an existing workspace are changed, and earlier remote runs ended.
    pub(crate) const fn changes(self) -> bool {
        matches!(self, Self::Changes)
    }

    /// Whether a remote run is requested.
    pub(crate) const fn requests(self) -> bool {
        !matches!(self, Self::Looks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_that_change_resources_change_something_on_the_server() {
        for kind in RunKind::ALL {
            let reach = Reach::of(kind);
            assert_eq!(reach.changes(), kind.changes_resources(), "{kind:?}");
            assert_eq!(reach.requests(), kind != RunKind::Check, "{kind:?}");
            assert_eq!(reach == Reach::Plans, kind.only_plans(), "{kind:?}");
        }
    }
}
