//! Fingerprints of what a plan would do (docs/runs.md#plans-as-data).

use std::fmt;

use crate::lease::PlanKey;

/// Fingerprint of a change, or of all changes of a plan. Displayed as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Effect([u8; 16]);

/// The state that a plan would change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectScope {
    /// Name of the workspace.
    pub workspace: String,
    /// Lineage of the recorded state; `None` before the first apply.
    pub lineage: Option<String>,
}

impl Effect {
    /// The fingerprint of one change, from all parts that make it different from other changes, in a fixed order.
    pub fn of_change<'a>(key: &PlanKey, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self::new(key, &b"change"[..], parts)
    }

    /// The fingerprint of a hidden value, from its place and the value.
    pub fn of_hidden<'a>(key: &PlanKey, parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self::new(key, &b"hidden"[..], parts)
    }

    /// The fingerprint of all changes of a plan, whatever their order.
    pub fn of_plan(key: &PlanKey, scope: &EffectScope, mut changes: Vec<Self>) -> Self {
        changes.sort_unstable();
        let lineage = scope.lineage.as_deref().map(str::as_bytes);
        let scope = [
            scope.workspace.as_bytes(),
            // A missing lineage differs from every lineage, also from an empty one.
            if lineage.is_some() { b"lineage" } else { b"" },
            lineage.unwrap_or_default(),
        ];
        let changes = changes.iter().map(|change| change.as_bytes().as_slice());
        Self::new(key, b"plan", scope.into_iter().chain(changes))
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn new<'a>(key: &PlanKey, kind: &'a [u8], parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let digest = key.digest(std::iter::once(kind).chain(parts));
        let mut short = [0; 16];
        short.copy_from_slice(&digest.as_bytes()[..16]);
        Self(short)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn change(key: &PlanKey, parts: &[String]) -> Effect {
        Effect::of_change(key, parts.iter().map(String::as_bytes))
    }

    fn scope(workspace: &str, lineage: Option<&str>) -> EffectScope {
        EffectScope {
            workspace: workspace.to_owned(),
            lineage: lineage.map(str::to_owned),
        }
    }

    proptest! {
        #[test]
        fn order_means_nothing_and_every_change_does(
            texts in prop::collection::vec(".{0,4}", 1..6),
            at in any::<prop::sample::Index>(),
        ) {
            let key = PlanKey::new([7; 32]);
            let scope = scope("edge", None);
            let of = |texts: &[String]| -> Vec<_> {
                texts.iter().map(|text| change(&key, std::slice::from_ref(text))).collect()
            };
            let effects = of(&texts);
            let whole = Effect::of_plan(&key, &scope, effects.clone());
            let mut turned = effects.clone();
            turned.reverse();
            prop_assert_eq!(Effect::of_plan(&key, &scope, turned), whole);
            let mut other = texts.clone();
            other[at.index(texts.len())].push('x');
            prop_assert_ne!(Effect::of_plan(&key, &scope, of(&other)), whole);
            let mut more = effects.clone();
            more.push(effects[0]);
            prop_assert_ne!(Effect::of_plan(&key, &scope, more), whole);
        }
    }

    #[test]
    fn key_workspace_and_lineage_are_part_of_an_effect() {
        let [one, two] = [1, 2].map(|byte| PlanKey::new([byte; 32]));
        let parts = ["a".to_owned(), "b".to_owned()];
        assert_ne!(change(&one, &parts), change(&two, &parts));
        assert_ne!(change(&one, &parts), change(&one, &["ab".to_owned()]));
        let hidden = Effect::of_hidden(&one, parts.iter().map(String::as_bytes));
        assert_ne!(hidden, change(&one, &parts));
        let scopes = [
            scope("edge", None),
            scope("edge", Some("")),
            scope("edge", Some("x")),
            scope("core", None),
        ];
        let mut all: Vec<_> = scopes
            .iter()
            .map(|scope| Effect::of_plan(&one, scope, vec![change(&one, &parts)]))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), scopes.len());
        assert_eq!(all[0].to_string().len(), 32);
    }
}
