//! The keys of a block. A block names each key once, in [`Keyed::keys`]: with its setting, how the setting is read, and
//! how a dump shows it.

mod values;

use cts_core::Backend;
use cts_core::hidden::shown_members;
use serde_json::Value;

use crate::decode::block::Block;
use crate::dump_body::Body;
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;

pub(crate) use self::values::unless_empty;

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
