//! Keys of a view whose values cannot be passed on: each is warned about once.
//!
//! The view shows such a key without a value (`Item::UnreadableKey`), and all other keys unchanged. A scheduler that
//! supports such items reports that with its subscription; for other schedulers the view fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use cts_core::{Item, ViewId, ViewSnapshot, keys_text};

/// The unreadable keys of the last answer.
#[derive(Debug, Default)]
pub(super) struct UnreadableKeys(BTreeSet<Arc<str>>);

impl UnreadableKeys {
    /// Warns of the keys of the snapshot that are new, in one line. Returns how many are new.
    pub(super) fn note(&mut self, view: &ViewId, snapshot: &ViewSnapshot) -> usize {
        let unreadable = of(snapshot);
        let new: Vec<&str> = unreadable.difference(&self.0).map(|key| &**key).collect();
        let count = new.len();
        if count > 0 {
            tracing::warn!(
                view.id = %view,
                unreadable = unreadable.len(),
                new = keys_text(new),
                "consul has values that are not text in UTF-8, or longer than 2 MiB: tasks keep the values of these keys that they applied last"
            );
        } else if unreadable.is_empty() && !self.0.is_empty() {
            tracing::info!(view.id = %view, "the values of all keys can be read again");
        }
        self.0 = unreadable;
        count
    }
}

fn of(snapshot: &ViewSnapshot) -> BTreeSet<Arc<str>> {
    let keys = snapshot.items.values().filter_map(|item| match item {
        Item::UnreadableKey(key) => Some(Arc::clone(key)),
        _ => None,
    });
    keys.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warns_once_about_each_key_until_it_can_be_read() {
        let view = ViewId::new("v");
        let mut unreadable = UnreadableKeys::default();
        let mut note = |keys: &[&str]| {
            let items = keys.iter().map(|&key| Item::UnreadableKey(key.into()));
            unreadable.note(&view, &ViewSnapshot::new(1, items))
        };
        assert_eq!(note(&["a", "b"]), 2);
        assert_eq!(note(&["b", "a"]), 0);
        assert_eq!(note(&["a", "c"]), 1);
        assert_eq!(note(&[]), 0);
        assert_eq!(note(&["a"]), 1);
    }
}
