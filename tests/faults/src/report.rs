//! Output while the suite runs.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;

use crate::plan::Plan;
use crate::violation::Violation;

/// Says a line, without buffering, so that progress is seen.
pub fn say(text: &str) {
    // There may be no reader any more.
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// The outcome of a plan.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The seed that the plan was made from.
    pub seed: u64,
    /// The system and the extent of the plan.
    pub about: String,
    /// Faults by kind.
    pub faults: BTreeMap<String, usize>,
    /// Further numbers, by name.
    pub figures: BTreeMap<&'static str, String>,
    /// The violations.
    pub violations: Vec<Violation>,
}

impl Report {
    /// Nothing has happened yet.
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            seed: plan.seed,
            about: format!("{:?} on {:?}", plan.extent, plan.setup),
            ..Self::default()
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}", self.seed, self.about)?;
        let all: usize = self.faults.values().sum();
        writeln!(f, "{all} faults: {:?}", self.faults)?;
        for (name, value) in &self.figures {
            writeln!(f, "{name}: {value}")?;
        }
        for violation in &self.violations {
            writeln!(f, "VIOLATION {violation}")?;
        }
        write!(f, "{} violations", self.violations.len())
    }
}
