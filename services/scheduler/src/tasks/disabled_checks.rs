//! The part of a pass that makes disabled tasks ready.

use std::sync::Arc;
use std::time::Duration;

use crate::check_pass::CheckPass;

/// Time in which the leader of this process has read the tasks.
const READING_LIMIT: Duration = Duration::from_secs(30);

/// Checks of the disabled tasks in a pass (docs/runs.md#disabled-tasks).
#[derive(Debug, Clone)]
pub struct DisabledChecks {
    pub(crate) pass: Arc<CheckPass>,
}

impl DisabledChecks {
    /// Checks the disabled tasks that are not ready, and waits for these checks. Logs the lines of `-inspect` or of
    /// `-once`. A failed check is logged, and ends nothing. Returns false without any check if another process leads.
    ///
    /// A cancelled call leaves checks that have begun.
    pub async fn run(&self, inspects: bool) -> bool {
        self.pass.run(inspects, READING_LIMIT).await
    }
}
