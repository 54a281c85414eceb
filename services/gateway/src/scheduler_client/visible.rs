//! Texts for callers who may see only some tasks (docs/access.md#roles).

use cts_core::callers::TaskPatterns;
use cts_proto::run::v1::{Run, RunStatus};
use cts_proto::task::v1::{Explanation, ObstacleKind};

/// Stands for a text of a scheduler of an earlier version, which names any task.
const HIDDEN: &str = "another task has its concurrency group, or its turn has not come";

/// The patterns for a request; none if the caller may see all tasks.
pub(super) fn patterns(visible: Option<&TaskPatterns>) -> Vec<String> {
    visible.map_or_else(Vec::new, |visible| visible.texts().to_vec())
}

/// Hides the names of other tasks, unless the scheduler has considered which tasks are visible.
pub(super) fn explanation(
    mut explanation: Explanation,
    visible: Option<&TaskPatterns>,
    considered: bool,
) -> Explanation {
    if visible.is_some() && !considered {
        let obstacles = explanation.obstacles.iter_mut();
        for obstacle in obstacles.filter(|it| it.kind() == ObstacleKind::GroupBusy) {
            HIDDEN.clone_into(&mut obstacle.text);
        }
    }
    explanation
}

/// Like [`explanation`], for a run: the reason why the run is queued may name other tasks.
pub(super) fn run(mut run: Run, visible: Option<&TaskPatterns>, considered: bool) -> Run {
    let waits = run.status() == RunStatus::Queued && !run.waiting_for.is_empty();
    if visible.is_some() && !considered && waits {
        HIDDEN.clone_into(&mut run.waiting_for);
    }
    run
}
