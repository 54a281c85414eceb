//! The reader of typed blocks: takes the keys that cts defines out of a block and reports the rest.

mod bodies;
mod inner;
mod list_text;
mod paths;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;

use cts_core::hidden::is_secret_name;
use cts_hcl1::{Value, ValueKind};

use crate::decode::block::bodies::{bodies_or_report, keep_first};
use crate::decode::coerce::{self, A_BLOCK, Mismatch};
use crate::decode::tree::{Entry, Part};
use crate::report::location::{Located, SourceLocation};
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;

/// A block with all that the files say about it, in their order; later files win.
///
/// Every `take` removes what it returns. Call [`Block::finish`] when everything known is taken: what
/// is left then is unknown, and the names asked for are what it may have been meant to be.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    name: String,
    /// The block as the log of the original calls it, with the position of a repeated one: `task[0]`.
    log_path: String,
    parts: Vec<Part<'a>>,
    asked: Vec<&'static str>,
    sink: &'a Sink,
}

/// A value that is not of the type of its key.
#[derive(Debug)]
struct WrongType {
    log_path: String,
    place: SourceLocation,
    message: String,
    help: Option<String>,
}

impl<'a> Block<'a> {
    /// `name` is how messages call the block; empty for the top of the files.
    pub(crate) fn new(name: impl Into<String>, parts: Vec<Part<'a>>, sink: &'a Sink) -> Self {
        let name = name.into();
        Self {
            log_path: name.clone(),
            name,
            parts,
            asked: Vec::new(),
            sink,
        }
    }

    /// The one block that is the value of `entry`. A value that is not a block is reported, and so are
    /// several blocks.
    pub(crate) fn of_entry(name: impl Into<String>, entry: &Entry<'a>, sink: &'a Sink) -> Self {
        let name = name.into();
        let mut parts = bodies_or_report(entry, &name, sink);
        keep_first(&mut parts, &name, &name, sink);
        Self::new(name, parts, sink)
    }

    /// All blocks under the keys of `entries` as one.
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

    /// The names of the keys that were looked for.
    pub(crate) fn asked(&self) -> &[&'static str] {
        &self.asked
    }

    /// Where the block is opened first.
    pub(crate) fn place(&self) -> Option<&SourceLocation> {
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
            .filter(|entry| !entry.is_unset())
            .any(|entry| entry.name().eq_ignore_ascii_case(name))
    }

    /// Reports something that the block lacks.
    pub(crate) fn missing(&self, message: impl Into<String>) {
        match self.place() {
            Some(place) => self.sink.error(place, message),
            None => self.sink.error_outside(message),
        }
    }

    /// A value of a scalar type: the last one given. The last one of each file must have the type; the others are
    /// only warned about, because the original ignores them.
    pub(crate) fn take<T>(
        &mut self,
        name: &'static str,
        coercion: impl Fn(&Value) -> Result<T, Mismatch>,
    ) -> Option<Located<T>> {
        let mut taken = None;
        for of_file in self.claim_by_part(name) {
            let Some((last, overruled)) = of_file.split_last() else {
                continue;
            };
            for entry in overruled {
                if let Err(wrong) = self.converted(entry, name, &coercion) {
                    let message = format!(
                        "{}; it has no effect, because it is repeated below",
                        wrong.message
                    );
                    self.sink.warning(&wrong.place, message);
                }
            }
            taken = self.convert(last, name, &coercion);
        }
        taken
    }

    pub(crate) fn text(&mut self, name: &'static str) -> Option<String> {
        Some(self.take(name, coerce::text)?.value)
    }

    /// A text that counts as absent when it is empty.
    pub(crate) fn filled_text(&mut self, name: &'static str) -> Option<Located<String>> {
        let text = self.take(name, coerce::text)?;
        Some(text).filter(|text| !text.value.is_empty())
    }

    /// A path, made absolute; an empty one counts as absent.
    pub(crate) fn path(&mut self, name: &'static str) -> Option<Located<PathBuf>> {
        let path = self.filled_text(name)?;
        Some(path.map(|path| self.sink.absolute(path)))
    }

    /// A text without which the block means nothing; reported if it is absent or empty.
    pub(crate) fn required_text(&mut self, name: &'static str) -> Option<Located<String>> {
        let given = self.has(name);
        let text = self.take(name, coerce::text);
        if !given || text.as_ref().is_some_and(|text| text.value.is_empty()) {
            self.missing(format!("`{}` needs a `{name}`", self.name));
        }
        text.filter(|text| !text.value.is_empty())
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

    /// A list of texts that `read` takes; the others are reported with the reason.
    pub(crate) fn checked_list<T, E: Display>(
        &mut self,
        name: &'static str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Option<Located<Vec<T>>> {
        let list = self.list(name)?;
        let read = |text: Located<String>| {
            let refuse = |problem| self.refuse(name, &text, problem);
            read(&text.value).map_err(refuse).ok()
        };
        Some(list.map(|texts| texts.into_iter().filter_map(read).collect()))
    }

    /// Reports a text with the reason why it cannot be the value of a key, which follows the text.
    pub(crate) fn refuse(&self, name: &str, text: &Located<String>, problem: impl Display) {
        let quoted = coerce::quoted(&text.value);
        let message = format!("{quoted} in `{}` {problem}", self.path_of(name));
        self.sink.error(&text.place, message);
    }

    /// The elements of a list; none without it.
    pub(crate) fn items(&mut self, name: &'static str) -> Vec<Located<String>> {
        self.list(name).map(|list| list.value).unwrap_or_default()
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
                None
                | Some(Value {
                    kind: ValueKind::Object(_),
                    ..
                }) => {
                    let found = entry.noun();
                    let wrong = self.wrong_type(place, name, "a list of strings", found, None);
                    self.report(wrong);
                    continue;
                }
                Some(value) => {
                    if let ValueKind::String(text) = &value.kind
                        && let Some(message) = list_text::advice(text, name, &self.path_of(name))
                    {
                        self.sink.warning(&place, message);
                    }
                    vec![value]
                }
            };
            let mut strings = Vec::new();
            for element in elements {
                match coerce::text(entry.single(element)) {
                    Ok(value) => strings.push(Located {
                        value,
                        place: SourceLocation::new(entry.source(), element.span.clone()),
                    }),
                    Err(mismatch) => self.report(self.mismatched(entry, name, mismatch)),
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
    pub(crate) fn text_map(
        &mut self,
        name: &'static str,
    ) -> Option<Located<BTreeMap<String, Located<String>>>> {
        let map = self.united(name);
        let place = map.place()?.clone();
        let mut texts = BTreeMap::new();
        let entries = map.parts.iter().flat_map(|part| &part.entries);
        for entry in entries.filter(|entry| !entry.is_unset()) {
            if entry.name().contains('\0') {
                let message = format!("a key of `{}` has the character U+0000", map.name);
                self.sink.error(&entry.key_place(), message);
            }
            if let Some(text) = map.convert(entry, entry.name(), coerce::text) {
                texts.insert(entry.name().to_owned(), text);
            }
        }
        Some(Located {
            value: texts,
            place,
        })
    }

    /// Takes out the entries of this name, whatever their type, and returns their places. The name is not
    /// suggested in place of others.
    pub(crate) fn places_of(&mut self, name: &str) -> Vec<SourceLocation> {
        let entries = self.parts.iter_mut().flat_map(|part| part.claim(name));
        entries.map(|entry| entry.key_place()).collect()
    }

    /// If a label was put on a block that takes none, reports it and goes on with what is inside.
    pub(crate) fn refuse_label(&mut self) {
        for part in &mut self.parts {
            while part.labelled {
                let Some(entry) = part.entries.pop() else {
                    break;
                };
                let message = format!("a `{}` block takes no label", self.name);
                self.sink.malformed(&entry.key_place(), message, None);
                let inside = bodies_or_report(&entry, &self.name, self.sink)
                    .into_iter()
                    .next();
                let Some(inside) = inside else { break };
                part.entries = inside.entries;
                part.labelled = inside.labelled;
            }
        }
    }

    /// Everything in the block, for contents whose keys cts does not define.
    pub(crate) fn into_entries(self) -> Vec<Entry<'a>> {
        self.parts
            .into_iter()
            .flat_map(|part| part.entries)
            .collect()
    }

    /// Reports what has not been taken.
    pub(crate) fn finish(self) {
        for entry in self.parts.iter().flat_map(|part| &part.entries) {
            let name = shortened(entry.name());
            let message = if self.name.is_empty() {
                format!("unknown key `{name}`")
            } else {
                format!("unknown key `{name}` in `{}`", self.name)
            };
            let help = suggestion(entry.name(), &self.asked);
            self.sink.error_with_help(&entry.key_place(), message, help);
            self.sink.classify(ProblemKind::UnknownKey {
                block: self.log_path.clone(),
                key: name.into_owned(),
            });
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
        self.converted(entry, name, coercion)
            .map_err(|wrong| self.report(wrong))
            .ok()
    }

    fn converted<T>(
        &self,
        entry: &Entry<'a>,
        name: &str,
        coercion: impl Fn(&Value) -> Result<T, Mismatch>,
    ) -> Result<Located<T>, WrongType> {
        let Some(value) = entry.plain_value() else {
            let place = entry.key_place();
            return Err(self.wrong_type(place, name, "a single value", A_BLOCK, None));
        };
        let value = coercion(entry.single(value))
            .map_err(|mismatch| self.mismatched(entry, name, mismatch))?;
        Ok(Located {
            value,
            place: entry.value_place(),
        })
    }

    fn report(&self, wrong: WrongType) {
        self.sink
            .error_with_help(&wrong.place, wrong.message, wrong.help);
        self.sink.classify(ProblemKind::WrongType(wrong.log_path));
    }

    fn mismatched(&self, entry: &Entry<'a>, name: &str, mismatch: Mismatch) -> WrongType {
        let place = SourceLocation::new(entry.source(), mismatch.span);
        let found = match mismatch.found.as_str() {
            A_BLOCK => entry.noun(),
            // The text under the wrong key may be the secret itself.
            quoted if quoted.starts_with('"') && is_secret_name(name) => "what is written here",
            found => found,
        };
        self.wrong_type(place, name, mismatch.expected, found, mismatch.help)
    }

    fn wrong_type(
        &self,
        place: SourceLocation,
        name: &str,
        expected: &str,
        found: &str,
        help: Option<String>,
    ) -> WrongType {
        WrongType {
            log_path: self.log_path_of(name),
            place,
            message: format!("`{}` must be {expected}, not {found}", self.path_of(name)),
            help,
        }
    }
}

/// [`Block::filled_text`] of any block.
pub(crate) fn filled_text(block: &mut Block<'_>, name: &'static str) -> Option<Located<String>> {
    block.filled_text(name)
}

/// A name as it was written, for a message.
fn shortened(name: &str) -> Cow<'_, str> {
    const LONGEST: usize = 60;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}
