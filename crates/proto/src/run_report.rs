//! The report of a worker about an attempt, read from Terraform's output.

use std::fmt;
use std::time::Duration;

use crate::run::v1::{PhaseTimes, ResourceAction, ResourceCounts};
use crate::time::duration_from_wire;

/// Maximum number of stored changes of one run; further changes are only counted.
pub const CHANGES_KEPT: usize = 200;

/// Maximum number of stored diagnostics of one run; further diagnostics are only counted.
pub const DIAGNOSTICS_KEPT: usize = 20;

impl fmt::Display for ResourceCounts {
    /// Written as `+2 ~1 -0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            added,
            changed,
            destroyed,
            imported,
        } = self;
        write!(f, "+{added} ~{changed} -{destroyed}")?;
        if *imported > 0 {
            write!(f, " imported {imported}")?;
        }
        Ok(())
    }
}

impl ResourceCounts {
    /// Counts one resource.
    pub const fn count(&mut self, action: ResourceAction) {
        let (first, second) = match action {
            ResourceAction::Create => (&mut self.added, None),
            ResourceAction::Update => (&mut self.changed, None),
            ResourceAction::Delete => (&mut self.destroyed, None),
            ResourceAction::Replace => (&mut self.added, Some(&mut self.destroyed)),
            ResourceAction::Import => (&mut self.imported, None),
            ResourceAction::Unspecified => return,
        };
        *first = first.saturating_add(1);
        if let Some(second) = second {
            *second = second.saturating_add(1);
        }
    }
}

impl PhaseTimes {
    /// The steps of the worker with their durations, in order.
    pub fn steps(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let steps = [
            ("render", self.render),
            ("init", self.init),
            ("validate", self.validate),
            ("plan", self.plan),
            ("apply", self.apply),
        ];
        let begun = |(step, took): (_, Option<_>)| Some((step, duration_from_wire(Some(&took?))));
        steps.into_iter().filter_map(begun)
    }

    /// The total time of the steps of the worker.
    pub fn total(&self) -> Duration {
        self.steps().map(|(_, took)| took).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_resource_counts_twice() {
        let mut counts = ResourceCounts::default();
        for action in [
            ResourceAction::Create,
            ResourceAction::Replace,
            ResourceAction::Update,
            ResourceAction::Import,
            ResourceAction::Unspecified,
        ] {
            counts.count(action);
        }
        let expected = ResourceCounts {
            added: 2,
            changed: 1,
            destroyed: 1,
            imported: 1,
        };
        assert_eq!(counts, expected);
    }
}
