//! What must not be.

use std::fmt;

/// One thing that must not be, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which rule is broken.
    pub rule: Rule,
    /// Task, process or row.
    pub subject: String,
    /// Evidence.
    pub evidence: String,
}

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Never are two applies of one task at work at once.
    OneApplyAtATime,
    /// Never are two runs of one task running by the database.
    OneRunAtATime,
    /// Who has been overtaken writes nothing.
    NoStaleWrite,
    /// There is one leader at most, and its epochs increase.
    OneLeader,
    /// What was confirmed stays.
    NothingLost,
    /// What is applied is not applied again, unless that was asked for.
    NothingTwice,
    /// What an apply has made and its state knows is not made again.
    MadeOnce,
    /// In the end each state has exactly the resources that the last input makes.
    StateIsExact,
    /// In the end everything is as the catalog says.
    EndsLikeTheCatalog,
    /// A task that is gone is worked for no more.
    DeletedIsGone,
    /// What a task has made is destroyed with it if it says so, and never else.
    DestroyedWithItsTask,
    /// No run begins with a declaration that the files do not have any more.
    DeclaredByFiles,
    /// A cancelled run is not leased again, and nothing applies its input unasked.
    CancelledStays,
    /// A due run is leased in time.
    NothingStarves,
    /// Processes end only on request, and leave nothing behind.
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
