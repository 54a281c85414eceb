//! How the keys of each type are read and dumped.

use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use cts_core::hidden::HIDDEN;
use cts_core::size_text;
use secrecy::SecretString;
use serde_json::Value;

use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::units;
use crate::dump_values::path;
use crate::keys::{Keys, LeftOut};
use crate::report::location::Located;

/// The word that stands for a value.
fn word<T: PartialEq>(words: &[(&'static str, T)], value: &T) -> Option<&'static str> {
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

    /// A duration that members compare by its text.
    pub(crate) fn whole_seconds(
        &mut self,
        name: &'static str,
        setting: &mut Duration,
        limits: &RangeInclusive<Duration>,
    ) {
        let read = |block: &mut Block<'_>, name| {
            let written = block.duration_within(name, limits)?;
            let path = block.path_of(name);
            block.sink().checked(written, |span| {
                let is_whole = span.subsec_nanos() == 0;
                let refusal = || format!("`{path}` must be whole seconds, not {span:?}");
                is_whole.then_some(span).ok_or_else(refusal)
            })
        };
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
}
