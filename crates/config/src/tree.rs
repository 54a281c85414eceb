//! The merged tree: the same block of several files seen as one, every node with its own file.

use std::sync::Arc;

use cts_hcl1::{Body, Key, Value, ValueKind};

use crate::place::{Place, SourceText};

/// One parsed file.
#[derive(Debug)]
pub(crate) struct ParsedFile {
    pub(crate) source: Arc<SourceText>,
    pub(crate) body: Body,
}

/// An item of which the first `n` keys have been dealt with.
///
/// `a "b" { }`, `a b { }` and `a { b { } }` are the same thing (spec/config.md 1.3), so an item with
/// keys left is seen as a body with one item in it.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'a> {
    source: &'a Arc<SourceText>,
    key: &'a Key,
    labels: &'a [Key],
    value: &'a Value,
}

impl<'a> Entry<'a> {
    /// `None` for an item without keys, which the parser never makes.
    fn new(source: &'a Arc<SourceText>, keys: &'a [Key], value: &'a Value) -> Option<Self> {
        let (key, labels) = keys.split_first()?;
        Some(Self {
            source,
            key,
            labels,
            value,
        })
    }

    pub(crate) fn name(&self) -> &'a str {
        &self.key.text
    }

    pub(crate) fn key_place(&self) -> Place {
        Place::new(self.source, self.key.span.clone())
    }

    /// Place of the value; of the first label where there is one.
    pub(crate) fn value_place(&self) -> Place {
        let span = self
            .labels
            .first()
            .map_or(&self.value.span, |label| &label.span);
        Place::new(self.source, span.clone())
    }

    pub(crate) fn source(&self) -> &'a Arc<SourceText> {
        self.source
    }

    /// The value, unless labels make this a block of blocks.
    pub(crate) fn plain_value(&self) -> Option<&'a Value> {
        self.labels.is_empty().then_some(self.value)
    }

    /// The bodies behind the key: one of a block, several of a list of objects. What is no body comes
    /// back as the value that stands in its place.
    pub(crate) fn bodies(&self) -> Vec<Result<Part<'a>, &'a Value>> {
        if let Some(entry) = Self::new(self.source, self.labels, self.value) {
            return vec![Ok(Part {
                place: self.key_place(),
                labelled: true,
                entries: vec![entry],
            })];
        }
        let mut bodies = Vec::new();
        self.collect_bodies(self.value, &mut bodies);
        bodies
    }

    fn collect_bodies(&self, value: &'a Value, into: &mut Vec<Result<Part<'a>, &'a Value>>) {
        match &value.kind {
            ValueKind::Object(body) => {
                into.push(Ok(Part::of_body(self.source, body, self.key_place())));
            }
            ValueKind::List(values) => {
                for value in values {
                    self.collect_bodies(value, into);
                }
            }
            ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) => {
                into.push(Err(value));
            }
        }
    }
}

/// What one file says about a block.
#[derive(Debug, Clone)]
pub(crate) struct Part<'a> {
    /// The key that opens the block.
    pub(crate) place: Place,
    /// Whether the only entry was a label of the block.
    pub(crate) labelled: bool,
    pub(crate) entries: Vec<Entry<'a>>,
}

impl<'a> Part<'a> {
    pub(crate) fn of_file(file: &'a ParsedFile) -> Self {
        let place = Place::new(&file.source, 0..0);
        Self::of_body(&file.source, &file.body, place)
    }

    pub(crate) fn of_body(source: &'a Arc<SourceText>, body: &'a Body, place: Place) -> Self {
        let entries = body
            .items
            .iter()
            .filter_map(|item| Entry::new(source, &item.keys, &item.value))
            .collect();
        Self {
            place,
            labelled: false,
            entries,
        }
    }

    /// Takes out the entries of a name: those that match exactly, or if there are none those that
    /// match without regard to case (spec/config.md 1.5).
    pub(crate) fn claim(&mut self, name: &str) -> Vec<Entry<'a>> {
        let exact = self.entries.iter().any(|entry| entry.name() == name);
        let wanted = |entry: &mut Entry<'a>| {
            if exact {
                entry.name() == name
            } else {
                entry.name().eq_ignore_ascii_case(name)
            }
        };
        self.entries.extract_if(.., wanted).collect()
    }
}
