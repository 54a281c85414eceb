//! Keys without a readable value, and the values that a task keeps for them
//! (docs/runs.md#keys-without-a-readable-value).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::run::input::{RunInput, ThawError};
use crate::view::{ItemKind, KeyValue, ViewId};
use crate::words::excerpt::excerpt;

/// Maximum number of keys that a text names.
pub const KEYS_NAMED: usize = 5;

/// Maximum characters of a key in a text.
const KEY_SHOWN: usize = 100;

/// Keys of a view whose values cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableKeys {
    /// The view.
    pub view: ViewId,
    /// Its keys, sorted; at least one.
    pub keys: Vec<Arc<str>>,
}

/// Returns the first keys in quotes, and the number of the remaining keys.
pub fn keys_text<'a>(keys: impl IntoIterator<Item = &'a str>) -> String {
    let mut keys = keys.into_iter();
    let shown = |key| format!("\"{}\"", excerpt(key, KEY_SHOWN));
    let named: Vec<String> = keys.by_ref().take(KEYS_NAMED).map(shown).collect();
    let named = named.join(", ");
    match keys.count() {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The keys with their values in an input, by the view that showed them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppliedKeys(BTreeMap<ViewId, BTreeMap<String, Arc<KeyValue>>>);

impl AppliedKeys {
    /// The keys in an input, from the bytes of its contents in their order.
    ///
    /// # Errors
    /// Fails if the bytes are not contents of an input.
    pub fn of_contents<'a>(
        contents: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, ThawError> {
        let mut contents = contents.into_iter();
        let head = contents.next().ok_or(ThawError::Empty)?;
        let dependencies = RunInput::definition_in(head)?.dependencies();
        let mut views = BTreeMap::new();
        for (place, (dependency, shown)) in (1..).zip(dependencies.iter().zip(contents)) {
            if dependency.view.item_kind() != ItemKind::Keys {
                continue;
            }
            let pairs: Vec<Arc<KeyValue>> = serde_json::from_slice(shown)
                .map_err(|source| ThawError::Unreadable { place, source })?;
            views.insert(dependency.view.id(), by_key(pairs));
        }
        Ok(Self(views))
    }

    fn value(&self, view: &ViewId, key: &str) -> Option<&Arc<KeyValue>> {
        self.0.get(view)?.get(key)
    }
}

fn by_key(pairs: impl IntoIterator<Item = Arc<KeyValue>>) -> BTreeMap<String, Arc<KeyValue>> {
    let pairs = pairs.into_iter();
    pairs.map(|pair| (pair.key.clone(), pair)).collect()
}

/// The values that a task keeps for unreadable keys: those of the last applied input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldKeys(BTreeMap<ViewId, BTreeMap<Arc<str>, HeldKey>>);

/// Decision about an unreadable key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldKey {
    /// The key keeps this value.
    Kept(Arc<KeyValue>),
    /// The key is left out, because the applied input lacks it.
    LeftOut,
}

impl HeldKeys {
    /// The values of these keys in an applied input.
    pub fn choose<'a>(
        unreadable: impl IntoIterator<Item = &'a UnreadableKeys>,
        applied: &AppliedKeys,
    ) -> Self {
        let views = unreadable.into_iter().map(|UnreadableKeys { view, keys }| {
            let values = keys.iter().map(|key| {
                let value = applied.value(view, key);
                let held = value.map_or(HeldKey::LeftOut, |pair| HeldKey::Kept(Arc::clone(pair)));
                (Arc::clone(key), held)
            });
            (view.clone(), values.collect())
        });
        Self(views.collect())
    }

    /// Returns the decision about a key; `None` without a decision.
    pub fn of(&self, view: &ViewId, key: &str) -> Option<&HeldKey> {
        self.0.get(view)?.get(key)
    }

    /// Returns whether each of these keys has a decision.
    pub fn covers(&self, view: &ViewId, keys: &[Arc<str>]) -> bool {
        keys.iter().all(|key| self.of(view, key).is_some())
    }

    /// The keys that are left out, because the applied input has no value for them.
    pub fn left_out(&self) -> Vec<UnreadableKeys> {
        let views = self.0.iter().map(|(view, keys)| {
            let keys = keys
                .iter()
                .filter(|(_key, held)| **held == HeldKey::LeftOut);
            UnreadableKeys {
                view: view.clone(),
                keys: keys.map(|(key, _held)| Arc::clone(key)).collect(),
            }
        });
        views.filter(|left_out| !left_out.keys.is_empty()).collect()
    }

    /// The keys that are left out here and were not left out in `before`.
    pub fn newly_left_out(&self, before: &Self) -> Vec<UnreadableKeys> {
        let mut views = self.left_out();
        for UnreadableKeys { view, keys } in &mut views {
            keys.retain(|key| before.of(view, key) != Some(&HeldKey::LeftOut));
        }
        views.retain(|left_out| !left_out.keys.is_empty());
        views
    }

    /// Whether both decide differently about some key.
    pub fn contradicts(&self, other: &Self) -> bool {
        self.0.iter().any(|(view, keys)| {
            let mut keys = keys.iter();
            keys.any(|(key, held)| other.of(view, key).is_some_and(|other| other != held))
        })
    }
}

#[cfg(test)]
mod tests;
