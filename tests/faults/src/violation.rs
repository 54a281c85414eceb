//! Violations of the rules.

use std::fmt;

/// One violation of a rule, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which rule is broken.
    pub rule: Rule,
    /// Task, process or row.
    pub subject: String,
    /// Evidence.
    pub evidence: String,
}

/// The rules that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Never are two applies of one task at work at once.
    OneApplyAtATime,
    /// Never are two runs of one task running by the database.
    OneRunAtATime,
    /// A process that was overtaken writes nothing.
    NoStaleWrite,
    /// At most one process leads, and its epochs increase.
    OneLeader,
    /// Confirmed writes stay.
    NothingLost,
    /// A run that has succeeded has applied its own input.
    AppliesItsInput,
    /// An applied input is not applied again without a request.
    NothingTwice,
    /// A resource that an apply has made and its state has is not made again.
    MadeOnce,
    /// In the end each state has exactly the resources that the last input makes.
    StateIsExact,
    /// In the end everything is as the catalog says.
    EndsLikeTheCatalog,
    /// Nothing works for a deleted task.
    DeletedIsGone,
    /// The resources of a task are destroyed with it if the task says so, and never otherwise.
    DestroyedWithItsTask,
    /// No run begins with a declaration that the files do not have any more.
    DeclaredByFiles,
    /// A cancelled run is not leased again, and nothing applies its input unasked.
    CancelledStays,
    /// While the brake of the fleet is set, nothing is leased unasked that takes instances away.
    BrakeHolds,
    /// A due run is leased in time.
    NothingStarves,
    /// Processes end only on request, and leave nothing running.
    NobodyDies,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}: {}", self.rule, self.subject, self.evidence)
    }
}

impl Violation {
    /// A broken rule.
    pub fn new(rule: Rule, subject: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self {
            rule,
            subject: subject.into(),
            evidence: evidence.into(),
        }
    }
}
