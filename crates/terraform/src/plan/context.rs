//! The things that a plan is read with.

use std::borrow::Cow;
use std::fmt;

use cts_core::lease::PlanKey;
use cts_core::{Effect, EffectScope, IgnoredAttribute};

/// Replaces secrets in a text; a text without secrets is borrowed.
pub type Redact = Box<dyn Fn(&str) -> Cow<'_, str> + Send>;

/// The things that a plan is read with.
pub struct PlanContext {
    /// The key of fingerprints.
    pub key: PlanKey,
    /// The state that the plan would change.
    pub scope: EffectScope,
    /// The plan destroys everything: its effect is the set of addresses with their actions.
    pub destroys: bool,
    /// Attributes that are not part of the effect.
    pub ignored: Vec<IgnoredAttribute>,
    /// Replaces secrets.
    pub redact: Redact,
}

impl PlanContext {
    /// A text without secrets.
    pub(super) fn shown(&self, text: &str) -> String {
        (self.redact)(text).into_owned()
    }

    /// Whether a text has a secret in it.
    pub(super) fn hides(&self, text: &str) -> bool {
        matches!((self.redact)(text), Cow::Owned(_))
    }

    /// The fingerprint of a hidden value at a place.
    pub(super) fn hash(&self, place: [&[u8]; 2], value: &[u8]) -> Vec<u8> {
        let parts = place.into_iter().chain([value]);
        Effect::of_hidden(&self.key, parts).as_bytes().to_vec()
    }
}

impl fmt::Debug for PlanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanContext")
            .field("key", &self.key)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
