//! Secrets in texts that leave the worker: output, errors, plans (docs/terraform.md#credentials).
//!
//! Secrets of a run are replaced in all escaped forms, and so are texts that have the shape of a token.

mod forms;
mod output;
mod redactors;
mod shapes;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind};
use cts_core::hidden::without;

use forms::forms;
pub(crate) use output::RedactingSink;
pub(crate) use redactors::Redactors;
use shapes::shapes;

/// Finds the secrets of a run.
#[derive(Debug)]
pub(crate) struct Redactor {
    known: AhoCorasick,
    /// Length of the longest form of a secret that is looked for, in bytes.
    longest: usize,
}

impl Redactor {
    /// Looks for these secrets and for texts with the shape of a secret.
    ///
    /// # Errors
    /// The secrets are too much for a search: many million bytes.
    pub(crate) fn new<'s>(secrets: impl IntoIterator<Item = &'s str>) -> Result<Self, BuildError> {
        let mut all = BTreeSet::new();
        for secret in secrets {
            forms(secret, &mut all);
            for part in shapes(secret) {
                forms(&secret[part], &mut all);
            }
        }
        let longest = all.iter().map(String::len).max().unwrap_or_default();
        let known = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::LeftmostLongest)
            .build(all)?;
        Ok(Self { known, longest })
    }

    /// The text without its secrets.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let secrets = self.secrets(text);
        if secrets.is_empty() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(without(text, &secrets))
        }
    }

    /// The ranges of secrets, in their order and without overlaps.
    fn secrets(&self, text: &str) -> Vec<Range<usize>> {
        let known = self.known.find_iter(text).map(|found| found.range());
        let mut places: Vec<_> = known.chain(shapes(text)).collect();
        places.sort_unstable_by_key(|place| place.start);
        let mut apart = Vec::<Range<usize>>::with_capacity(places.len());
        for place in places {
            match apart.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => apart.push(place),
            }
        }
        apart
    }
}

#[cfg(test)]
mod tests;
