//! The keys of a block. A block names each key once, in [`Keyed::keys`]: with its setting, how the setting is read, and
//! how a dump shows it.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use cts_core::hidden::{HIDDEN, shown_members};
use cts_core::{Backend, size_text};
use secrecy::SecretString;
use serde_json::Value;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::units;
use crate::dump_body::Body;
use crate::dump_values::path;
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;

/// The settings of a block.
pub(crate) trait Keyed {
    /// Names the keys in the order in which a dump has them.
    fn keys(&mut self, keys: &mut Keys<'_, '_>);
}

/// The purpose for which a block names its keys.
#[derive(Debug)]
pub(crate) enum Keys<'k, 'a> {
    /// Settings take the values of the keys that are written, and keep their own otherwise.
    Read {
        block: &'k mut Block<'a>,
        written: &'k mut Written,
    },
    /// Settings are added to a dump.
    Dump(&'k mut Body),
}

/// The keys of a block that were read, with the places of their values.
#[derive(Debug, Default)]
pub(crate) struct Written(Vec<(&'static str, SourceLocation)>);

impl Written {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    pub(crate) fn place(&self, key: &str) -> Option<&SourceLocation> {
        let written = self.iter().find(|(name, _)| *name == key);
        written.map(|(_, place)| place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &SourceLocation)> {
        self.0.iter().map(|(name, place)| (*name, place))
    }
}

/// A key that a dump has left out; `None` in all other cases.
pub(crate) struct LeftOut<'r>(Option<(&'r mut Body, &'static str)>);

impl LeftOut<'_> {
    /// Adds a comment in place of the key.
    pub(crate) fn or_note(self, text: &str) {
        if let Some((body, name)) = self.0 {
            body.note(format!("{name}: {text}"));
        }
    }
}

/// Reads a block and reports its unknown keys. Settings keep their values where no key is written.
pub(crate) fn read<T: Keyed>(mut settings: T, mut block: Block<'_>) -> T {
    read_keys(&mut settings, &mut block);
    block.finish();
    settings
}

/// Reads the keys out of a block.
pub(crate) fn read_keys<T: Keyed>(settings: &mut T, block: &mut Block<'_>) -> Written {
    let mut keys = Written::default();
    let written = &mut keys;
    settings.keys(&mut Keys::Read { block, written });
    keys
}

/// The block in a dump.
pub(crate) fn dumped<T: Keyed + Clone>(settings: &T) -> Body {
    let mut body = Body::default();
    settings.clone().keys(&mut Keys::Dump(&mut body));
    body
}

/// A block that is written while it is off, too, in a dump.
pub(crate) fn dumped_switch<T: Keyed + Clone>(settings: Option<&T>) -> Body {
    let mut body = Body::default();
    body.set("enabled", settings.is_some());
    if let Some(settings) = settings {
        settings.clone().keys(&mut Keys::Dump(&mut body));
    }
    body
}

pub(crate) fn names<T: Keyed>(mut settings: T) -> Vec<&'static str> {
    let sink = Sink::default();
    let mut block = Block::new("", Vec::new(), &sink);
    read_keys(&mut settings, &mut block);
    block.asked().to_vec()
}

/// The word that stands for a value.
pub(crate) fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
    let mut words = words.iter();
    words
        .find(|(_, other)| other == value)
        .map(|(word, _)| *word)
}

/// The texts of a list, which a dump leaves out while it is empty.
pub(crate) fn unless_empty<T>(list: &[T], text: impl Fn(&T) -> String) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.iter().map(text).collect())
}

fn read_secret(block: &mut Block<'_>, name: &'static str) -> Option<Located<Option<SecretString>>> {
    let text = block.take(name, coerce::text)?;
    Some(text.map(|text| (!text.is_empty()).then(|| SecretString::from(text))))
}

impl Keys<'_, '_> {
    /// A key of any type. `read` takes the value out of the block if a valid one is written; `dump` gives the value for
    /// a dump, or leaves the key out.
    pub(crate) fn key<T, V: Into<Value>>(
        &mut self,
        name: &'static str,
        setting: &mut T,
        read: impl FnOnce(&mut Block<'_>, &'static str) -> Option<Located<T>>,
        dump: impl FnOnce(&T) -> Option<V>,
    ) -> LeftOut<'_> {
        match self {
            Self::Read { block, written } => {
                if let Some(Located { value, place }) = read(block, name) {
                    *setting = value;
                    written.0.push((name, place));
                }
                LeftOut(None)
            }
            Self::Dump(body) => match dump(setting) {
                Some(value) => {
                    body.set(name, value);
                    LeftOut(None)
                }
                None => LeftOut(Some((body, name))),
            },
        }
    }

    /// A key that may be unset.
    pub(crate) fn optional<T, V: Into<Value>>(
        &mut self,
        name: &'static str,
        setting: &mut Option<T>,
        read: impl FnOnce(&mut Block<'_>, &'static str) -> Option<Located<T>>,
        dump: impl FnOnce(&T) -> V,
    ) -> LeftOut<'_> {
        let read = |block: &mut Block<'_>, name| Some(read(block, name)?.map(Some));
        self.key(name, setting, read, |setting| setting.as_ref().map(dump))
    }

    pub(crate) fn flag(&mut self, name: &'static str, setting: &mut bool) {
        let read = |block: &mut Block<'_>, name| block.take(name, coerce::flag);
        self.key(name, setting, read, |flag| Some(*flag));
    }

    /// A whole number.
    pub(crate) fn number<T>(
        &mut self,
        name: &'static str,
        setting: &mut T,
        limits: &RangeInclusive<T>,
    ) where
        T: TryFrom<i64> + PartialOrd + Display + Copy + Into<Value>,
    {
        let read = |block: &mut Block<'_>, name| block.number_within(name, limits);
        self.key(name, setting, read, |number| Some(*number));
    }

    /// A number of bytes.
    pub(crate) fn size<T: TryFrom<u64> + Into<u64> + Copy>(
        &mut self,
        name: &'static str,
        setting: &mut T,
        limits: &RangeInclusive<u64>,
    ) {
        let read = |block: &mut Block<'_>, name| block.size_within(name, limits);
        self.key(name, setting, read, |size| Some(size_text((*size).into())));
    }

    pub(crate) fn duration(
        &mut self,
        name: &'static str,
        setting: &mut Duration,
        limits: &RangeInclusive<Duration>,
    ) {
        let read = |block: &mut Block<'_>, name| block.duration_within(name, limits);
        self.key(name, setting, read, |span| Some(units::duration(*span)));
    }

    pub(crate) fn optional_duration(
        &mut self,
        name: &'static str,
        setting: &mut Option<Duration>,
        limits: &RangeInclusive<Duration>,
    ) -> LeftOut<'_> {
        let read = |block: &mut Block<'_>, name| block.duration_within(name, limits);
        self.optional(name, setting, read, |span| units::duration(*span))
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy + PartialEq>(
        &mut self,
        name: &'static str,
        setting: &mut T,
        words: &[(&'static str, T)],
    ) {
        let read = |block: &mut Block<'_>, name| block.choice(name, words);
        self.key(name, setting, read, |chosen| word(words, chosen));
    }

    /// One of a few words, or unset.
    pub(crate) fn optional_choice<T: Copy + PartialEq>(
        &mut self,
        name: &'static str,
        setting: &mut Option<T>,
        words: &[(&'static str, T)],
    ) {
        let read = |block: &mut Block<'_>, name| block.choice(name, words);
        self.optional(name, setting, read, |chosen| word(words, chosen));
    }

    /// A text that `read` takes out of the block.
    pub(crate) fn text_of(
        &mut self,
        name: &'static str,
        setting: &mut String,
        read: impl FnOnce(&mut Block<'_>, &'static str) -> Option<Located<String>>,
    ) {
        self.key(name, setting, read, |text| Some(text.clone()));
    }

    /// A text, which may be empty.
    pub(crate) fn text(&mut self, name: &'static str, setting: &mut String) {
        self.text_of(name, setting, |block, name| block.take(name, coerce::text));
    }

    /// A secret, which is unset when it is empty. A dump shows whether it is set.
    pub(crate) fn secret(&mut self, name: &'static str, setting: &mut Option<SecretString>) {
        self.key(name, setting, read_secret, |secret| {
            Some(secret.as_ref().map_or("", |_set| HIDDEN))
        });
    }

    /// A secret, which a dump leaves out while it is unset.
    pub(crate) fn optional_secret(
        &mut self,
        name: &'static str,
        setting: &mut Option<SecretString>,
    ) {
        self.key(name, setting, read_secret, |secret| {
            secret.as_ref().map(|_set| HIDDEN)
        });
    }

    /// A text that counts as absent when it is empty.
    pub(crate) fn optional_text(
        &mut self,
        name: &'static str,
        setting: &mut Option<String>,
    ) -> LeftOut<'_> {
        let read = |block: &mut Block<'_>, name| block.filled_text(name);
        self.optional(name, setting, read, String::clone)
    }

    /// A list of texts, each of which `check` takes or refuses with the reason.
    pub(crate) fn texts<E: Display>(
        &mut self,
        name: &'static str,
        setting: &mut Vec<String>,
        check: impl Fn(&str) -> Result<(), E>,
    ) {
        let check = |text: &str| check(text).map(|()| text.to_owned());
        let read = |block: &mut Block<'_>, name| block.checked_list(name, check);
        self.key(name, setting, read, |texts| Some(texts.clone()));
    }

    /// A list of what `read` makes of texts; refused ones are reported with the reason. A dump leaves an empty list out.
    pub(crate) fn list<T: ToString, E: Display>(
        &mut self,
        name: &'static str,
        setting: &mut Vec<T>,
        read: impl Fn(&str) -> Result<T, E>,
    ) {
        let read = |block: &mut Block<'_>, name| block.checked_list(name, read);
        self.key(name, setting, read, |list| {
            unless_empty(list, ToString::to_string)
        });
    }

    /// A path; an empty one counts as absent.
    pub(crate) fn path(
        &mut self,
        name: &'static str,
        setting: &mut Option<PathBuf>,
    ) -> LeftOut<'_> {
        let read = |block: &mut Block<'_>, name| block.path(name);
        self.optional(name, setting, read, |written| path(written))
    }

    /// A path without which the block means nothing.
    pub(crate) fn required_path(&mut self, name: &'static str, setting: &mut PathBuf) {
        let read = |block: &mut Block<'_>, name| {
            let path = block.required_text(name)?;
            Some(path.map(|path| block.sink().absolute(path)))
        };
        self.key(name, setting, read, |written| Some(path(written)));
    }

    /// Address and port of a listener, such as `example`. A number alone would leave open who can reach it, so the
    /// address is written out.
    pub(crate) fn socket(
        &mut self,
        name: &'static str,
        setting: &mut Option<SocketAddr>,
        example: &str,
    ) -> LeftOut<'_> {
        let read = |block: &mut Block<'_>, name| {
            let written = block.filled_text(name)?;
            let Ok(address) = written.value.parse::<SocketAddr>() else {
                let port = example.rsplit(':').next().unwrap_or_default();
                let expected = format!("such as {example:?} or \"[::]:{port}\"");
                block.refuse(name, &written, format!("is no address and port {expected}"));
                return None;
            };
            Some(written.map(|_text| address))
        };
        self.optional(name, setting, read, ToString::to_string)
    }

    /// A block of any content. `dump` gives the block for a dump, or leaves it out.
    pub(crate) fn block_of<T>(
        &mut self,
        name: &'static str,
        setting: &mut T,
        read: impl FnOnce(&mut Block<'_>, &'static str) -> T,
        dump: impl FnOnce(&T) -> Option<Body>,
    ) -> LeftOut<'_> {
        match self {
            Self::Read { block, .. } => {
                *setting = read(block, name);
                LeftOut(None)
            }
            Self::Dump(body) => match dump(setting) {
                Some(inner) => {
                    body.block(name, inner);
                    LeftOut(None)
                }
                None => LeftOut(Some((body, name))),
            },
        }
    }

    /// A block all of whose keys may be left out. A dump leaves it out if it has no keys.
    pub(crate) fn block<T: Keyed + Clone>(&mut self, name: &'static str, settings: &mut T) {
        let default = settings.clone();
        let read = |block: &mut Block<'_>, name| read(default, block.block_or_empty(name));
        let dump = |settings: &T| Some(dumped(settings)).filter(|body| !body.items.is_empty());
        self.block_of(name, settings, read, dump);
    }

    /// A block that may be absent.
    pub(crate) fn optional_block<T: Keyed + Default + Clone>(
        &mut self,
        name: &'static str,
        settings: &mut Option<T>,
    ) -> LeftOut<'_> {
        let read = |block: &mut Block<'_>, name| {
            let block = block.block(name)?;
            Some(read(T::default(), block))
        };
        self.block_of(name, settings, read, |settings| {
            settings.as_ref().map(dumped)
        })
    }

    /// A setting that no key sets.
    #[expect(
        clippy::unused_self,
        reason = "stands in the place of the method of a key"
    )]
    pub(crate) fn without_key<T>(&self, _name: &'static str, _setting: &mut T) {}

    /// A backend, which is read before the other keys.
    pub(crate) fn backend(&mut self, name: &'static str, backend: &mut Backend) {
        if let Self::Dump(body) = self {
            let arguments = shown_members(&backend.arguments);
            body.labelled(name, &backend.kind, arguments.into());
        }
    }

    /// The backend before, which is read before the other keys as well.
    pub(crate) fn previous_backend(&mut self, name: &'static str, backend: &mut Option<Backend>) {
        if let Some(backend) = backend {
            self.backend(name, backend);
        }
    }
}
