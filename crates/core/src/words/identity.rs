//! Names and ids: newtypes that cannot be confused with each other.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Digest;

/// Name of a task: unique, the Terraform workspace and the label of the generated module block.
///
/// An identifier as in HCL 2 (docs/configuration.md#task): a letter or `_` first, then letters, digits, `_` and `-`,
/// in the Unicode sense. A task name is therefore always one safe path segment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskName(String);

/// A text is not a task name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// The text is empty.
    #[error("unique name for the task is required")]
    Empty,
    /// The text is not an identifier.
    #[error(
        "a task name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes: {0:?}"
    )]
    NotAnIdentifier(String),
}

impl TaskName {
    /// Checks that `text` is a task name.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidName> {
        let text = text.into();
        let mut characters = text.chars();
        let Some(first) = characters.next() else {
            return Err(InvalidName::Empty);
        };
        let starts_well = first == '_' || is_id_start(first);
        let goes_on_well = characters.all(|c| c == '-' || is_id_continue(c));
        if starts_well && goes_on_well {
            Ok(Self(text))
        } else {
            Err(InvalidName::NotAnIdentifier(text))
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a character is in the class `ID_Start`. `XID_Start` lacks a few of its characters, which
/// normalisation form KC changes.
fn is_id_start(character: char) -> bool {
    unicode_ident::is_xid_start(character)
        || is_unstable(character)
        || matches!(character, '\u{e33}' | '\u{eb3}' | '\u{ff9e}'..='\u{ff9f}')
}

/// The class `ID_Continue`.
fn is_id_continue(character: char) -> bool {
    unicode_ident::is_xid_continue(character) || is_unstable(character)
}

/// Returns whether a character is in `ID_Start` and `ID_Continue`, but in neither `XID_Start` nor `XID_Continue`.
fn is_unstable(character: char) -> bool {
    matches!(
        character,
        '\u{37a}'
            | '\u{309b}'..='\u{309c}'
            | '\u{fc5e}'..='\u{fc63}'
            | '\u{fdfa}'..='\u{fdfb}'
            | '\u{fe70}'
            | '\u{fe72}'
            | '\u{fe74}'
            | '\u{fe76}'
            | '\u{fe78}'
            | '\u{fe7a}'
            | '\u{fe7c}'
            | '\u{fe7e}'
    )
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TaskName {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::new(text)
    }
}

impl TryFrom<String> for TaskName {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Self, InvalidName> {
        Self::new(text)
    }
}

impl From<TaskName> for String {
    fn from(name: TaskName) -> Self {
        name.0
    }
}

macro_rules! uuid_identity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps an existing id; new ids are made where time and randomness are available.
            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }

            /// The id itself.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, uuid::Error> {
                Uuid::parse_str(text).map(Self)
            }
        }
    };
}

uuid_identity! {
    /// Identifies one run of one task; version 7, so that ids sort by creation.
    RunId
}

impl RunId {
    /// The bits of an id that the key of its request decides: all but those of the time, the version and the variant.
    const KEY: u128 = (0xfff << 64) | (u64::MAX >> 2) as u128;

    /// The id with the time of this one for the request of the task with this key.
    #[must_use]
    pub fn with_key(self, key: RequestKey, task: &TaskName) -> Self {
        let time = self.0.as_u128() & !Self::KEY;
        Self(Uuid::from_u128(time | (key.bits(task) & Self::KEY)))
    }

    /// Whether the request of the run of this task with this id has this key.
    pub fn has_key(self, key: RequestKey, task: &TaskName) -> bool {
        (self.0.as_u128() ^ key.bits(task)) & Self::KEY == 0
    }
}

/// Key that a caller gives to a request of a run, to be able to repeat it (docs/rest.md#repeated-requests): a random UUID,
/// of version 4 or 7. The id of the run has bits of a hash of key and task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestKey(Uuid);

/// A text is no key of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key of a request must be a UUID of version 4 or 7")]
pub struct InvalidRequestKey;

impl RequestKey {
    fn bits(self, task: &TaskName) -> u128 {
        let hash = Digest::of_parts([self.0.as_bytes().as_slice(), task.0.as_bytes()]);
        let (first, _) = hash.as_bytes().split_at(size_of::<u128>());
        first
            .iter()
            .fold(0, |bits, byte| bits << 8 | u128::from(*byte))
    }
}

impl FromStr for RequestKey {
    type Err = InvalidRequestKey;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let key = Uuid::parse_str(text).map_err(|_none| InvalidRequestKey)?;
        let is_random = matches!(key.get_version_num(), 4 | 7);
        is_random.then_some(Self(key)).ok_or(InvalidRequestKey)
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

uuid_identity! {
    /// Identifies one event of one task (docs/rest.md#task-status).
    EventId
}
uuid_identity! {
    /// Identifies the rows that one reset of the storage removed.
    ArchiveId
}

uuid_identity! {
    /// Identifies one cause ([`Cause`](crate::runs::Cause)); version 7, so that ids sort by time.
    CauseId
}

uuid_identity! {
    /// Identifies one life of a scheduler process. A restarted process has a new incarnation under the same
    /// member id.
    Incarnation
}

macro_rules! epoch {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
        )]
        pub struct $name(u64);

        impl $name {
            /// Wraps a stored or received number.
            pub const fn new(number: u64) -> Self {
                Self(number)
            }

            /// The number.
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The next number.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

epoch! {
    /// Counts the leases of a run; every later message of a worker names its epoch, and an old epoch is refused.
    LeaseEpoch
}
epoch! {
    /// Counts the leaderships of schedulers; every write of a leader names its epoch, and an old epoch is refused.
    LeaderEpoch
}

const UUID_LENGTH: usize = 36;

/// Names one life of one worker process; a restarted worker counts as a different worker.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerId(String);

impl WorkerId {
    /// Wraps a text that is unique among living workers.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id for a new life of a worker on a machine. `name`, if set, is the worker's name for operators.
    pub fn of_life(name: Option<&str>, host: &str, life: Uuid) -> Self {
        Self(match name {
            Some(name) => format!("{name}@{host}-{life}"),
            None => format!("{host}-{life}"),
        })
    }

    /// The machine of the worker, if the id has the form of [`WorkerId::of_life`].
    pub fn host(&self) -> Option<&str> {
        let worker = self.without_life()?;
        Some(worker.rsplit_once('@').map_or(worker, |(_name, host)| host))
    }

    /// Name of the worker for display: its name with its machine; the whole id if it has a different form.
    pub fn name(&self) -> &str {
        let worker = self.without_life().filter(|worker| !worker.is_empty());
        worker.unwrap_or(&self.0)
    }

    fn without_life(&self) -> Option<&str> {
        let at = self.0.len().checked_sub(UUID_LENGTH)?;
        let (worker, life) = self.0.split_at_checked(at)?;
        life.parse::<Uuid>().ok()?;
        worker.strip_suffix('-')
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_task_names() {
        for good in ["a", "_", "web-1", "edge_pool", "été", "a·b"] {
            assert_eq!(TaskName::new(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn other_texts_are_no_task_names() {
        assert_eq!(TaskName::new(""), Err(InvalidName::Empty));
        for bad in ["1a", "-a", "web task", "a.b", "a/b", "..", "a\nb", "²"] {
            assert_eq!(
                TaskName::new(bad),
                Err(InvalidName::NotAnIdentifier(bad.into()))
            );
        }
    }

    #[test]
    fn characters_of_names_are_those_of_the_unicode_classes() {
        let class = |name: &str| regex::Regex::new(&format!(r"^\p{{{name}}}$")).unwrap();
        let known = class("Assigned");
        let (start, goes_on) = (class("ID_Start"), class("ID_Continue"));
        let stable = [class("XID_Start"), class("XID_Continue")];
        let characters = ('\0'..=char::MAX).filter(|character| *character != '_');
        let mut compared = 0;
        for character in characters {
            let text = character.to_string();
            // The two tables may follow different versions of Unicode.
            let same_version = unicode_ident::is_xid_start(character) == stable[0].is_match(&text)
                && unicode_ident::is_xid_continue(character) == stable[1].is_match(&text);
            if same_version && known.is_match(&text) {
                compared += 1;
                let expected = (start.is_match(&text), goes_on.is_match(&text));
                let found = (is_id_start(character), is_id_continue(character));
                assert_eq!(found, expected, "{character:?}");
            }
        }
        assert!(compared > 100_000, "{compared}");
    }
}
