//! What is said to whoever looks on.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write as _;
use std::time::Duration;

use crate::violation::Violation;

/// Says a line, without buffering: whoever looks on wants to see where it stands.
pub fn say(text: &str) {
    // Nobody may be looking any more.
    drop(writeln!(std::io::stderr(), "{text}"));
}

/// What came of a plan.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What the plan was made of.
    pub seed: u64,
    /// Time of trouble.
    pub length: Duration,
    /// Faults by kind.
    pub faults: BTreeMap<String, usize>,
    /// Further numbers, by name.
    pub figures: BTreeMap<&'static str, String>,
    /// What must not be.
    pub violations: Vec<Violation>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {:?} of trouble", self.seed, self.length)?;
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
