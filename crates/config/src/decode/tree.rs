//! The merged tree: the same block of several files seen as one, every node with its own file.

use std::sync::Arc;

use cts_hcl1::{Body, Key, Value, ValueKind};

use crate::decode::coerce::A_BLOCK;
use crate::report::location::{Rules, SourceLocation, SourceText};

#[derive(Debug)]
pub(crate) struct ParsedFile {
    pub(crate) source: Arc<SourceText>,
    pub(crate) body: Body,
}

/// An item of which the first `n` keys have been dealt with.
///
/// `a "b" { }`, `a b { }` and `a { b { } }` are the same thing (docs/configuration.md#hcl), so an item with
/// keys left is seen as a body with one item in it.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    source: &'a Arc<SourceText>,
    key: &'a Key,
    labels: &'a [Key],
    value: &'a Value,
    assigned: bool,
}

impl<'a> Entry<'a> {
    /// `None` for an item without keys, which the parser never makes.
    fn new(
        source: &'a Arc<SourceText>,
        keys: &'a [Key],
        value: &'a Value,
        assigned: bool,
    ) -> Option<Self> {
        let (key, labels) = keys.split_first()?;
        Some(Self {
            source,
            key,
            labels,
            value,
            assigned,
        })
    }

    /// Whether it is written as a block, `a { }`. JSON does not show it.
    pub(crate) fn is_block(&self) -> bool {
        self.rules() == Rules::Hcl && !self.assigned
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.key.text
    }

    pub(crate) fn key_place(&self) -> SourceLocation {
        SourceLocation::new(self.source, self.key.span.clone())
    }

    /// Place of the value; of the first label where there is one.
    pub(crate) fn value_place(&self) -> SourceLocation {
        let span = self
            .labels
            .first()
            .map_or(&self.value.span, |label| &label.span);
        SourceLocation::new(self.source, span.clone())
    }

    pub(crate) fn source(&self) -> &'a Arc<SourceText> {
        self.source
    }

    pub(crate) fn rules(&self) -> Rules {
        self.source.rules()
    }

    /// The word for a block in the language of this file.
    pub(crate) fn noun(&self) -> &'static str {
        match self.rules() {
            Rules::Hcl => A_BLOCK,
            Rules::Json => "an object",
        }
    }

    /// The value, unless labels make this a block of blocks.
    pub(crate) fn plain_value(&self) -> Option<&'a Value> {
        self.labels.is_empty().then_some(self.value)
    }

    /// Whether the value is `null`, which for keys that cts defines is the same as an absent key.
    pub(crate) fn is_unset(&self) -> bool {
        self.labels.is_empty() && matches!(self.value.kind, ValueKind::Null)
    }

    /// The value where a single one is expected: in HCL, lists of one element count as their element,
    /// at any depth (docs/configuration.md#types).
    pub(crate) fn single<'v>(&self, value: &'v Value) -> &'v Value {
        match self.rules() {
            Rules::Hcl => unwrapped(value),
            Rules::Json => value,
        }
    }

    /// The value of an entry of which a single one is expected.
    pub(crate) fn single_value(&self) -> Option<&'a Value> {
        self.plain_value().map(|value| self.single(value))
    }

    /// The bodies under the key: one of a block, several of a list of objects. A value that is not a body
    /// comes back as the value that stands in its place.
    pub(crate) fn bodies(&self) -> Vec<Result<Part<'a>, &'a Value>> {
        if let Some(entry) = Self::new(self.source, self.labels, self.value, self.assigned) {
            return vec![Ok(Part {
                place: self.key_place(),
                labelled: true,
                listed: false,
                entries: vec![entry],
            })];
        }
        let mut bodies = Vec::new();
        self.collect_bodies(self.value, false, &mut bodies);
        bodies
    }

    fn collect_bodies(
        &self,
        value: &'a Value,
        listed: bool,
        into: &mut Vec<Result<Part<'a>, &'a Value>>,
    ) {
        match &value.kind {
            ValueKind::Object(body) => {
                let place = if listed {
                    // Several of them have one key; what differs is where they begin.
                    SourceLocation::new(self.source, value.span.start..value.span.start + 1)
                } else {
                    self.key_place()
                };
                let part = Part::of_body(self.source, body, place);
                into.push(Ok(Part { listed, ..part }));
            }
            ValueKind::List(values) if !listed || self.rules() == Rules::Hcl => {
                for value in values {
                    self.collect_bodies(value, true, into);
                }
            }
            ValueKind::List(_)
            | ValueKind::String(_)
            | ValueKind::Number(_)
            | ValueKind::Bool(_)
            | ValueKind::Null => into.push(Err(value)),
        }
    }
}

/// Lists of one element count as their element, at any depth.
fn unwrapped(mut value: &Value) -> &Value {
    while let ValueKind::List(values) = &value.kind {
        let [only] = values.as_slice() else { break };
        value = only;
    }
    value
}

/// The part of a block that one file contains.
#[derive(Debug, Clone)]
pub(crate) struct Part<'a> {
    /// The key that opens the block; in a list of several, its brace.
    pub(crate) place: SourceLocation,
    /// Whether the only entry was a label of the block.
    pub(crate) labelled: bool,
    /// Whether it is an element of a list.
    pub(crate) listed: bool,
    pub(crate) entries: Vec<Entry<'a>>,
}

impl<'a> Part<'a> {
    pub(crate) fn of_file(file: &'a ParsedFile) -> Self {
        let place = SourceLocation::new(&file.source, 0..0);
        Self::of_body(&file.source, &file.body, place)
    }

    pub(crate) fn of_body(
        source: &'a Arc<SourceText>,
        body: &'a Body,
        place: SourceLocation,
    ) -> Self {
        let entries = body
            .items
            .iter()
            .filter_map(|item| Entry::new(source, &item.keys, &item.value, item.assigned))
            .collect();
        Self {
            place,
            labelled: false,
            listed: false,
            entries,
        }
    }

    pub(crate) fn rules(&self) -> Rules {
        self.place.source.rules()
    }

    /// Takes out the entries of a name: the ones that match exactly, or if none does, the ones that match
    /// without regard to case (docs/configuration.md#types), all in the spelling of the first. Entries that
    /// are `null` are taken out as well but not given: they count as absent.
    pub(crate) fn claim(&mut self, name: &str) -> Vec<Entry<'a>> {
        let Some(spelling) = self.spelling(name) else {
            return Vec::new();
        };
        self.entries
            .extract_if(.., |entry| entry.name() == spelling)
            .filter(|entry| !entry.is_unset())
            .collect()
    }

    /// How `name` is written here.
    fn spelling(&self, name: &str) -> Option<&'a str> {
        let names = || self.entries.iter().map(Entry::name);
        let inexact = || names().find(|written| written.eq_ignore_ascii_case(name));
        names().find(|written| *written == name).or_else(inexact)
    }
}
