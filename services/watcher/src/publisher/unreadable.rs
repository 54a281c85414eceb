//! Instances of a view that cannot be understood: each is warned about once.

use std::collections::HashSet;

use cts_consul::UnreadableInstance;
use cts_core::{InstanceKey, ViewId, excerpt};

/// Instances that a log line names.
const NAMED: usize = 5;
/// Characters of a node's name and of an id that are shown.
const NAME_SHOWN: usize = 100;

/// Unreadable instances of the last answer. `None` stands for all that name no instance.
#[derive(Debug, Default)]
pub(super) struct Unreadable(HashSet<Option<InstanceKey>>);

impl Unreadable {
    /// Warns of newly unreadable instances, in one line. The view has `kept` unreadable instances in their last form,
    /// without the others. Returns the number of newly unreadable instances.
    pub(super) fn note(
        &mut self,
        view: &ViewId,
        unreadable: &[UnreadableInstance],
        kept: usize,
    ) -> usize {
        let new: Vec<&UnreadableInstance> = unreadable
            .iter()
            .filter(|odd| !self.0.contains(&odd.key))
            .collect();
        if let Some(first) = new.first() {
            let names: Vec<String> = new.iter().take(NAMED).map(|odd| name(odd)).collect();
            tracing::warn!(
                view.id = %view,
                instances = unreadable.len(),
                kept,
                left_out = unreadable.len().saturating_sub(kept),
                new = names.join(", "),
                error = first.problem,
                "consul describes instances in a way that cannot be understood; they stay as they were, or are left out"
            );
        } else if unreadable.is_empty() && !self.0.is_empty() {
            tracing::info!(view.id = %view, "all instances can be understood again");
        }
        let count = new.len();
        self.0 = unreadable.iter().map(|odd| odd.key.clone()).collect();
        count
    }
}

fn name(odd: &UnreadableInstance) -> String {
    match &odd.key {
        Some(InstanceKey { node, id }) => {
            let (node, id) = (excerpt(node, NAME_SHOWN), excerpt(id, NAME_SHOWN));
            format!("{id:?} on node {node:?}")
        }
        None => "one without a name".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(id: Option<&str>) -> UnreadableInstance {
        let key = id.map(|id| InstanceKey {
            node: "n".into(),
            id: id.into(),
        });
        UnreadableInstance {
            key,
            problem: "odd".into(),
        }
    }

    #[test]
    fn warns_once_about_each_instance_until_it_can_be_understood() {
        let view = ViewId::new("v");
        let mut unreadable = Unreadable::default();
        assert_eq!(unreadable.note(&view, &[odd(Some("a")), odd(None)], 0), 2);
        assert_eq!(unreadable.note(&view, &[odd(None), odd(Some("a"))], 1), 0);
        let three = [odd(None), odd(Some("a")), odd(Some("b"))];
        assert_eq!(unreadable.note(&view, &three, 1), 1);
        assert_eq!(unreadable.note(&view, &[], 0), 0);
        assert_eq!(unreadable.note(&view, &[odd(Some("a"))], 0), 1);
    }
}
