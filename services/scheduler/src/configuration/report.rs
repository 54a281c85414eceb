//! Log lines about configurations.

use std::collections::{BTreeMap, BTreeSet};

use cts_core::{TaskDifference, TaskName, TaskOrigin, TaskPhase, TaskSpec};
use cts_store::StoredTask;

/// Most tasks that one line names.
const NAMED: usize = 20;

/// Logs one line for each task that the configuration added, changed or removed.
pub(super) fn log_changes(before: &[StoredTask], after: &[StoredTask]) {
    let earlier: BTreeMap<&TaskName, &StoredTask> =
        before.iter().map(|task| (task.spec.name(), task)).collect();
    let later: BTreeMap<&TaskName, &StoredTask> =
        after.iter().map(|task| (task.spec.name(), task)).collect();
    for task in after {
        let name = task.spec.name();
        match earlier.get(name) {
            None => {
                tracing::info!(target: "ctrl", task_name = %name, "the configuration adds a task");
            }
            Some(earlier)
                if earlier.origin == TaskOrigin::Api && task.origin == TaskOrigin::Config =>
            {
                tracing::warn!(target: "ctrl", task_name = %name, "the configuration names a task that was made over the API, which becomes what is configured");
            }
            Some(earlier) if is_going(task) && !is_going(earlier) => removed(name),
            Some(earlier) if earlier.spec != task.spec => {
                tracing::info!(target: "ctrl", task_name = %name, "the configuration changes a task");
            }
            Some(_) => {}
        }
    }
    for name in earlier.keys().filter(|name| !later.contains_key(*name)) {
        removed(name);
    }
}

/// Logs one line for each task that is destroyed because `declared` no longer has it.
pub(super) fn log_destructions(stored: &[StoredTask], declared: &[TaskSpec]) {
    let declared: BTreeSet<&TaskName> = declared.iter().map(TaskSpec::name).collect();
    let destroying = stored.iter().filter(|task| {
        task.origin == TaskOrigin::Config
            && task.destroy_run.is_some()
            && !declared.contains(task.spec.name())
    });
    for task in destroying {
        let name = task.spec.name();
        tracing::info!(target: "ctrl", task_name = %name, "the destruction of a task goes on, although the configuration no longer has the task; `cts task delete -retain` gives it up");
    }
}

fn is_going(task: &StoredTask) -> bool {
    task.phase == TaskPhase::Deleting
}

fn removed(name: &TaskName) {
    tracing::info!(target: "ctrl", task_name = %name, "the configuration removes a task");
}

/// The tasks that differ, for a person.
pub(crate) fn list_differences(differences: &[(TaskName, TaskDifference)]) -> String {
    let named = differences.iter().take(NAMED);
    let named = named.map(|(name, difference)| format!("{name} ({})", difference.as_str()));
    let mut list = named.collect::<Vec<_>>().join(", ");
    let more = differences.len().saturating_sub(NAMED);
    if more > 0 {
        list = format!("{list} and {more} more");
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut() {
        let name = |n: usize| TaskName::new(format!("t{n}")).unwrap();
        let all: Vec<_> = (0..22)
            .map(|n| (name(n), TaskDifference::Changed))
            .collect();
        assert_eq!(
            list_differences(&[(name(1), TaskDifference::Added), all[2].clone()]),
            "t1 (added), t2 (changed)"
        );
        assert!(list_differences(&all).ends_with("t19 (changed) and 2 more"));
    }
}
