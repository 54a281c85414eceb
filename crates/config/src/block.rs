//! The reader of typed blocks: takes what is known out of a block and reports the rest.

use std::collections::BTreeMap;

use cts_hcl1::{Value, ValueKind};

use crate::coerce::{self, Mismatch, describe};
use crate::place::{Located, Place};
use crate::sink::Sink;
use crate::suggestion::suggestion;
use crate::tree::{Entry, Part};

/// A block with all that the files say about it, in their order; later files win.
///
/// Every `take` removes what it returns. Call [`Block::finish`] when everything known is taken: what
/// is left then is unknown, and the names asked for are what it may have been meant to be.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    name: String,
    parts: Vec<Part<'a>>,
    asked: Vec<&'static str>,
    sink: &'a Sink,
}

impl<'a> Block<'a> {
    /// `name` is how messages call the block; empty for the top of the files.
    pub(crate) fn new(name: impl Into<String>, parts: Vec<Part<'a>>, sink: &'a Sink) -> Self {
        Self {
            name: name.into(),
            parts,
            asked: Vec::new(),
            sink,
        }
    }

    /// The block behind the key of `entry`; what is no block is reported.
    pub(crate) fn of_entry(name: impl Into<String>, entry: &Entry<'a>, sink: &'a Sink) -> Self {
        Self::of_entries(name, std::slice::from_ref(entry), sink)
    }

    /// All blocks behind the keys of `entries` as one.
    pub(crate) fn of_entries(
        name: impl Into<String>,
        entries: &[Entry<'a>],
        sink: &'a Sink,
    ) -> Self {
        let name = name.into();
        let bodies = |entry| bodies_or_report(entry, &name, sink);
        let parts = entries.iter().flat_map(bodies).collect();
        Self::new(name, parts, sink)
    }

    pub(crate) fn sink(&self) -> &'a Sink {
        self.sink
    }

    /// Where the block is opened first.
    pub(crate) fn place(&self) -> Option<&Place> {
        self.parts.first().map(|part| &part.place)
    }

    /// Whether nothing stands in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.entries.is_empty())
    }

    /// Whether something of this name is still in the block, whatever its type.
    pub(crate) fn has(&self, name: &str) -> bool {
        let entries = self.parts.iter().flat_map(|part| &part.entries);
        entries
            .map(Entry::name)
            .any(|written| written.eq_ignore_ascii_case(name))
    }

    /// Reports something that the block lacks.
    pub(crate) fn missing(&self, message: impl Into<String>) {
        match self.place() {
            Some(place) => self.sink.error(place, message),
            None => self.sink.error_outside(message),
        }
    }

    /// A value of a scalar type: the last one given, but all are checked.
    pub(crate) fn take<T>(
        &mut self,
        name: &'static str,
        coercion: impl Fn(&Value) -> Result<T, Mismatch>,
    ) -> Option<Located<T>> {
        let mut taken = None;
        for entry in self.claim(name) {
            taken = self.convert(&entry, name, &coercion);
        }
        taken
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        Some(self.take(name, coerce::text)?.value)
    }

    /// A text without which the block means nothing; reported if it is absent or empty.
    pub(crate) fn required_text(&mut self, name: &'static str) -> Option<String> {
        let given = self.has(name);
        let text = self.text(name);
        if !given || text.as_ref().is_some_and(String::is_empty) {
            self.missing(format!("`{}` needs a `{name}`", self.name));
        }
        text.filter(|text| !text.is_empty())
    }

    pub(crate) fn flag(&mut self, name: &'static str) -> Option<bool> {
        Some(self.take(name, coerce::flag)?.value)
    }

    /// A list of strings. Within one file lists of the same name are joined, that of a later file
    /// replaces it.
    pub(crate) fn list(&mut self, name: &'static str) -> Option<Located<Vec<Located<String>>>> {
        let mut last = None;
        for of_file in self.claim_by_part(name) {
            last = self.joined_list(name, &of_file).or(last);
        }
        last
    }

    fn joined_list(
        &self,
        name: &str,
        entries: &[Entry<'a>],
    ) -> Option<Located<Vec<Located<String>>>> {
        let mut list: Option<Located<Vec<Located<String>>>> = None;
        for entry in entries {
            let place = entry.value_place();
            let elements: Vec<&Value> = match entry.plain_value() {
                Some(Value {
                    kind: ValueKind::List(values),
                    ..
                }) => values.iter().collect(),
                Some(value) => vec![value],
                None => {
                    self.mismatch(&place, name, "a list of strings", "a block", None);
                    continue;
                }
            };
            let mut strings = Vec::new();
            for element in elements {
                match coerce::text(element) {
                    Ok(value) => strings.push(Located {
                        value,
                        place: Place::new(entry.source(), element.span.clone()),
                    }),
                    Err(mismatch) => self.report(entry, name, mismatch),
                }
            }
            match &mut list {
                Some(list) => list.value.append(&mut strings),
                None => {
                    list = Some(Located {
                        value: strings,
                        place,
                    });
                }
            }
        }
        list
    }

    /// A map of strings; repeated ones are united.
    pub(crate) fn text_map(&mut self, name: &'static str) -> BTreeMap<String, Located<String>> {
        let map = self.united(name);
        let mut texts = BTreeMap::new();
        for entry in map.parts.iter().flat_map(|part| &part.entries) {
            if let Some(text) = map.convert(entry, entry.name(), coerce::text) {
                texts.insert(entry.name().to_owned(), text);
            }
        }
        texts
    }

    /// A block that may stand once in each file.
    pub(crate) fn block(&mut self, name: &'static str) -> Option<Self> {
        let path = self.path_of(name);
        let mut parts = Vec::new();
        for of_file in self.claim_by_part(name) {
            let mut bodies: Vec<Part<'a>> = of_file
                .iter()
                .flat_map(|entry| bodies_or_report(entry, &path, self.sink))
                .collect();
            for second in bodies.iter().skip(1) {
                let message = format!("only one `{path}` block can be configured");
                self.sink.error(&second.place, message);
            }
            // Reading the others as well would add problems that follow from this one.
            bodies.truncate(1);
            parts.append(&mut bodies);
        }
        (!parts.is_empty()).then(|| Self::new(path, parts, self.sink))
    }

    /// Blocks that may stand any number of times, each for itself.
    pub(crate) fn repeated(&mut self, name: &'static str) -> Vec<Self> {
        let path = self.path_of(name);
        self.claim(name)
            .iter()
            .flat_map(|entry| bodies_or_report(entry, &path, self.sink))
            .map(|part| Self::new(path.clone(), vec![part], self.sink))
            .collect()
    }

    /// All blocks of a name as one.
    pub(crate) fn united(&mut self, name: &'static str) -> Self {
        let path = self.path_of(name);
        let parts = self
            .claim(name)
            .iter()
            .flat_map(|entry| bodies_or_report(entry, &path, self.sink))
            .collect();
        Self::new(path, parts, self.sink)
    }

    /// A key of the original format that has no effect here yet; reported if present.
    pub(crate) fn unsupported(&mut self, name: &'static str) -> bool {
        let entries = self.claim(name);
        for entry in &entries {
            self.sink.unsupported(&entry.key_place(), name);
        }
        !entries.is_empty()
    }

    /// A key that is known and without effect in the original as well.
    pub(crate) fn ignored(&mut self, name: &'static str) {
        self.claim(name);
    }

    /// If a label was put on a block that takes none, reports it and goes on with what is inside.
    pub(crate) fn refuse_label(&mut self) {
        for part in &mut self.parts {
            while part.labelled {
                let Some(entry) = part.entries.pop() else {
                    break;
                };
                let message = format!("a `{}` block takes no label", self.name);
                self.sink.error(&entry.key_place(), message);
                let inside = bodies_or_report(&entry, &self.name, self.sink)
                    .into_iter()
                    .next();
                let Some(inside) = inside else { break };
                part.entries = inside.entries;
                part.labelled = inside.labelled;
            }
        }
    }

    /// Everything in the block, for contents whose keys are not ours.
    pub(crate) fn into_entries(self) -> Vec<Entry<'a>> {
        self.parts
            .into_iter()
            .flat_map(|part| part.entries)
            .collect()
    }

    /// Reports what has not been taken.
    pub(crate) fn finish(self) {
        for entry in self.parts.iter().flat_map(|part| &part.entries) {
            let message = if self.name.is_empty() {
                format!("unknown key `{}`", entry.name())
            } else {
                format!("unknown key `{}` in `{}`", entry.name(), self.name)
            };
            let help = suggestion(entry.name(), &self.asked);
            self.sink.error_with_help(&entry.key_place(), message, help);
        }
    }

    /// How messages call something in the block.
    pub(crate) fn path_of(&self, name: &str) -> String {
        if self.name.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.name)
        }
    }

    fn claim_by_part(&mut self, name: &'static str) -> Vec<Vec<Entry<'a>>> {
        self.asked.push(name);
        self.parts.iter_mut().map(|part| part.claim(name)).collect()
    }

    fn claim(&mut self, name: &'static str) -> Vec<Entry<'a>> {
        self.claim_by_part(name).into_iter().flatten().collect()
    }

    fn convert<T>(
        &self,
        entry: &Entry<'a>,
        name: &str,
        coercion: impl Fn(&Value) -> Result<T, Mismatch>,
    ) -> Option<Located<T>> {
        let Some(value) = entry.plain_value() else {
            self.mismatch(&entry.key_place(), name, "a single value", "a block", None);
            return None;
        };
        match coercion(value) {
            Ok(value) => Some(Located {
                value,
                place: entry.value_place(),
            }),
            Err(mismatch) => {
                self.report(entry, name, mismatch);
                None
            }
        }
    }

    fn report(&self, entry: &Entry<'a>, name: &str, mismatch: Mismatch) {
        let place = Place::new(entry.source(), mismatch.span);
        self.mismatch(
            &place,
            name,
            mismatch.expected,
            &mismatch.found,
            mismatch.help,
        );
    }

    fn mismatch(
        &self,
        place: &Place,
        name: &str,
        expected: &str,
        found: &str,
        help: Option<String>,
    ) {
        let message = format!("`{}` must be {expected}, not {found}", self.path_of(name));
        self.sink.error_with_help(place, message, help);
    }
}

fn bodies_or_report<'a>(entry: &Entry<'a>, path: &str, sink: &Sink) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for body in entry.bodies() {
        match body {
            Ok(part) => parts.push(part),
            Err(value) => {
                let place = Place::new(entry.source(), value.span.clone());
                let message = format!("`{path}` must be a block, not {}", describe(value));
                sink.error(&place, message);
            }
        }
    }
    parts
}
