//! Redactors of the runs at work.

use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use aho_corasick::BuildError;
use cts_core::Digest;

use super::Redactor;

/// Runs with the same secrets share a redactor: a worker follows hundreds of runs at a time.
#[derive(Debug, Default)]
pub(crate) struct Redactors(Mutex<HashMap<Digest, Weak<Redactor>>>);

impl Redactors {
    /// The redactor for these secrets, as [`Redactor::new`] makes it.
    pub(crate) fn of<'s>(
        &self,
        secrets: impl IntoIterator<Item = &'s str>,
    ) -> Result<Arc<Redactor>, BuildError> {
        let secrets: BTreeSet<&str> = secrets.into_iter().collect();
        let digest = Digest::of_parts(secrets.iter().map(|secret| secret.as_bytes()));
        let known = self.0.lock().get(&digest).and_then(Weak::upgrade);
        if let Some(known) = known {
            return Ok(known);
        }
        let redactor = Arc::new(Redactor::new(secrets)?);
        let mut all = self.0.lock();
        all.retain(|_digest, redactor| redactor.strong_count() > 0);
        all.insert(digest, Arc::downgrade(&redactor));
        Ok(redactor)
    }
}
