//! Translates words by the original's rules (docs/cli.md#options-and-arguments) to a spelling that clap reads: one dash
//! or two, `-name=value` or `-name value`, `-name=false`, the last value counts.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use clap::Arg;
use cts_core::go::parse_bool;

use super::definitions::{Leaf, is_boolean, is_list};

/// Meaning of the words after a command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    /// Each one `--name` or `--name=value`.
    pub(super) options: Vec<OsString>,
    /// The arguments without a name.
    pub(super) positionals: Vec<OsString>,
    /// Notices about them; may be empty.
    pub(super) notice: String,
}

/// A word is not an option of the command. The texts are those of the original.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum OptionError {
    /// There is no name between the dashes and what follows.
    #[error("bad flag syntax: {0}")]
    Syntax(String),
    /// The command has no such option.
    #[error("flag provided but not defined: -{0}")]
    Unknown(String),
    /// The option can only be on or off.
    #[error("invalid boolean value {value:?} for -{name}: parse error")]
    Boolean {
        /// The option.
        name: String,
        /// The given text.
        value: String,
    },
    /// The option is the last word.
    #[error("flag needs an argument: -{0}")]
    Value(String),
}

/// Reads the words after a command.
pub(super) fn read(leaf: &Leaf<'_>, words: &[OsString]) -> Result<Words, OptionError> {
    let mut given: Vec<(&Arg, OsString)> = Vec::new();
    let mut positionals = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            positionals.extend(rest.by_ref().cloned());
        } else if word.len() < 2 || !word.as_bytes().starts_with(b"-") {
            positionals.push(word.clone());
            if !leaf.mixes_options_and_arguments() {
                positionals.extend(rest.by_ref().cloned());
            }
        } else {
            let (option, spelling) = option(leaf, word, &mut rest)?;
            if !is_list(option) {
                given.retain(|(other, _)| other.get_id() != option.get_id());
            }
            given.push((option, spelling));
        }
    }
    let mut notice = String::new();
    if leaf.ignores_arguments() && !positionals.is_empty() {
        let ignored = positionals.join(OsStr::new(" "));
        notice = format!("warning: ignored: {}\n", ignored.to_string_lossy());
        positionals.clear();
    }
    Ok(Words {
        options: given
            .into_iter()
            .map(|(_, spelling)| spelling)
            .filter(|spelling| !spelling.is_empty())
            .collect(),
        positionals,
        notice,
    })
}

/// The option that `word` names, in the spelling that clap reads; empty for an option that is switched off.
fn option<'a, 'w>(
    leaf: &Leaf<'a>,
    word: &OsStr,
    rest: &mut impl Iterator<Item = &'w OsString>,
) -> Result<(&'a Arg, OsString), OptionError> {
    let bytes = word.as_bytes();
    let stripped = bytes.strip_prefix(b"--").unwrap_or(&bytes[1..]);
    if matches!(stripped.first(), None | Some(b'-' | b'=')) {
        return Err(OptionError::Syntax(word.to_string_lossy().into_owned()));
    }
    let (name, value) = match stripped.iter().position(|byte| *byte == b'=') {
        Some(at) => (
            &stripped[..at],
            Some(OsStr::from_bytes(&stripped[at + 1..])),
        ),
        None => (stripped, None),
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let Some(option) = leaf.option(&name) else {
        return Err(OptionError::Unknown(name));
    };
    if is_boolean(option) {
        let on = match value {
            None => true,
            Some(value) => boolean(value).ok_or_else(|| OptionError::Boolean {
                name,
                value: value.to_string_lossy().into_owned(),
            })?,
        };
        let text = if on { "true" } else { "false" };
        let spelling = match (option.get_action().takes_values(), on) {
            (true, _) => spell(option, Some(OsStr::new(text))),
            (false, true) => spell(option, None),
            (false, false) => OsString::new(),
        };
        return Ok((option, spelling));
    }
    let value = match value {
        Some(value) => value,
        None => rest.next().ok_or(OptionError::Value(name))?,
    };
    Ok((option, spell(option, Some(value))))
}

/// The values that a boolean option can have.
fn boolean(value: &OsStr) -> Option<bool> {
    parse_bool(value.to_str()?)
}

fn spell(option: &Arg, value: Option<&OsStr>) -> OsString {
    let mut spelling = match (option.get_long(), option.get_short()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(short)) => format!("-{short}"),
        (None, None) => String::new(),
    }
    .into_bytes();
    if let Some(value) = value {
        spelling.push(b'=');
        spelling.extend_from_slice(value.as_bytes());
    }
    OsString::from_vec(spelling)
}
