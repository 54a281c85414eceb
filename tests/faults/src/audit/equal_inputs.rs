//! Applies of what was applied already.

use std::collections::BTreeMap;

use super::record::Audit;
use crate::violation::{Rule, Violation};

/// Leases, without a request, of applies with the input of the last apply of the same task, which had succeeded.
///
/// What another attempt has begun since, or what was done for another task of that name, is not known to be applied.
pub fn equal_inputs(audit: &Audit) -> Vec<Violation> {
    let mut deleted = audit
        .switches
        .iter()
        .filter(|switched| switched.enabled.is_none())
        .peekable();
    let mut applied: BTreeMap<&str, &str> = BTreeMap::new();
    let mut violations = Vec::new();
    for write in audit.runs.iter().filter(|write| write.kind == "apply") {
        while let Some(gone) = deleted.next_if(|gone| gone.at < write.at) {
            applied.remove(&*gone.task);
        }
        let was_running = write
            .old
            .as_ref()
            .is_some_and(|old| old.status == "running");
        match (was_running, &*write.new.status) {
            (false, "running") => {
                let before = applied.remove(&*write.task);
                if before == Some(&*write.input) && !write.requested {
                    let evidence = format!("applied once more: {write:?}");
                    violations.push(Violation::new(Rule::NothingTwice, &write.task, evidence));
                }
            }
            (true, "succeeded") => {
                applied.insert(&write.task, &write.input);
            }
            _ => {}
        }
    }
    violations
}
