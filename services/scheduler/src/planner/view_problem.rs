//! Why changes of a view are not seen, for explanations.

use chrono::{DateTime, Utc};

/// Why changes of a view are not seen. The snapshot from before stays in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ViewProblem {
    /// The problem in one line.
    pub(crate) text: String,
    /// Consul has refused to answer.
    pub(crate) refused: bool,
    /// Whether all views of the same Consul or watcher have this problem.
    pub(crate) outage: bool,
    pub(crate) since: DateTime<Utc>,
    pub(crate) next_try: Option<DateTime<Utc>>,
    /// When Consul answered last.
    pub(crate) last_answer: Option<DateTime<Utc>>,
}
