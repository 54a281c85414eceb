//! Applies of what was applied already.

use std::collections::BTreeMap;

use super::record::Audit;

/// How many applies succeeded with the input of the last apply of the same task that had succeeded.
///
/// Those are no fault: a run that was cut off, was asked for or follows a takeover may have to apply again what it cannot know to be
/// applied.
pub fn equal_inputs(audit: &Audit) -> usize {
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    let succeeded = audit.runs.iter().filter(|write| {
        let was_running = write
            .old
            .as_ref()
            .is_some_and(|old| old.status == "running");
        was_running && write.new.status == "succeeded" && write.kind == "apply"
    });
    succeeded
        .filter(|write| last.insert(&write.task, &write.input) == Some(&*write.input))
        .count()
}
