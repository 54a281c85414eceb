//! Sources of one evaluation, and reasons of the functions that read them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use parking_lot::Mutex;

use crate::source::{Found, Source};

/// Sources that the functions of one evaluation have, and sources that they lack.
#[derive(Debug)]
pub(crate) struct Sources {
    found: BTreeMap<Source, Found>,
    needs: Mutex<BTreeSet<Source>>,
}

impl Sources {
    pub(crate) const fn of(found: BTreeMap<Source, Found>) -> Self {
        Self {
            found,
            needs: Mutex::new(BTreeSet::new()),
        }
    }

    /// Returns the data of a source, if known; otherwise notes the source as needed.
    pub(crate) fn get(&self, source: Source) -> Option<&Found> {
        let found = self.found.get(&source);
        if found.is_none() {
            let mut needs = self.needs.lock();
            needs.insert(source);
        }
        found
    }

    /// The sources that were lacking.
    pub(crate) fn needs(&self) -> BTreeSet<Source> {
        self.needs.lock().clone()
    }
}

/// Stands before reasons of our own, which may be shown.
pub(crate) const OURS: &str = "\u{1}";

/// A reason of our own for an error of a function.
pub(crate) fn failed(reason: impl Display) -> gotmpl::TemplateError {
    gotmpl::TemplateError::Exec(format!("{OURS}{reason}"))
}
