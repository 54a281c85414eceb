//! Values of statements, for any database.

use std::borrow::Cow;
use std::time::Duration;

use cts_core::{
    ArchiveId, CauseId, Digest, EventId, Incarnation, LeaderEpoch, LeaseEpoch, RunId, TaskName,
    WorkerId,
};
use cts_store::cell::span_micros;
use uuid::Uuid;

/// A value that a statement binds. `None` is `NULL`, which also has a type.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    Text(Option<Cow<'a, str>>),
    /// A whole number.
    Integer(Option<i64>),
    /// A truth value.
    Flag(bool),
    Bytes(Option<Cow<'a, [u8]>>),
    /// An id: `UUID` in Postgres, a text in SQLite.
    Id(Option<Uuid>),
    /// Texts, for `{in $1}`.
    Texts(Vec<Cow<'a, str>>),
    /// Whole numbers, for `{in $1}`.
    Integers(Vec<i64>),
    /// Ids, for `{in $1}`.
    Ids(Vec<Uuid>),
}

/// A type that a statement binds.
pub trait Bind<'a> {
    fn value(self) -> Value<'a>;
    /// `NULL` of this type.
    fn null() -> Value<'a>;
}

impl<'a, T: Bind<'a>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(T::null, T::value)
    }
}

/// Types with a value, and their options.
macro_rules! bound {
    ($($type:ty => $kind:ident, $it:ident => $value:expr;)+) => {$(
        impl<'a> Bind<'a> for $type {
            fn value(self) -> Value<'a> {
                let $it = self;
                Value::$kind(Some($value))
            }

            fn null() -> Value<'a> {
                Value::$kind(None)
            }
        }

        impl<'a> From<$type> for Value<'a> {
            fn from(value: $type) -> Self {
                value.value()
            }
        }
    )+};
}

bound! {
    &'a str => Text, it => Cow::Borrowed(it);
    &'a String => Text, it => Cow::Borrowed(it);
    String => Text, it => Cow::Owned(it);
    &'a TaskName => Text, it => Cow::Borrowed(it.as_str());
    &'a WorkerId => Text, it => Cow::Borrowed(it.as_str());
    Digest => Text, it => Cow::Owned(it.to_string());
    &'a [u8] => Bytes, it => Cow::Borrowed(it);
    Vec<u8> => Bytes, it => Cow::Owned(it);
    i64 => Integer, it => it;
    u32 => Integer, it => i64::from(it);
    u64 => Integer, it => i64::try_from(it).unwrap_or(i64::MAX);
    usize => Integer, it => i64::try_from(it).unwrap_or(i64::MAX);
    LeaseEpoch => Integer, it => i64::try_from(it.get()).unwrap_or(i64::MAX);
    LeaderEpoch => Integer, it => i64::try_from(it.get()).unwrap_or(i64::MAX);
    Duration => Integer, it => span_micros(it);
    Uuid => Id, it => it;
    RunId => Id, it => it.as_uuid();
    EventId => Id, it => it.as_uuid();
    ArchiveId => Id, it => it.as_uuid();
    CauseId => Id, it => it.as_uuid();
    Incarnation => Id, it => it.as_uuid();
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl<'a> From<&'a [TaskName]> for Value<'a> {
    fn from(names: &'a [TaskName]) -> Self {
        let names = names.iter().map(|name| Cow::Borrowed(name.as_str()));
        Self::Texts(names.collect())
    }
}

impl<'a> From<&[&'a str]> for Value<'a> {
    fn from(texts: &[&'a str]) -> Self {
        Self::Texts(texts.iter().map(|text| Cow::Borrowed(*text)).collect())
    }
}

impl<'a> From<&'a [String]> for Value<'a> {
    fn from(texts: &'a [String]) -> Self {
        Self::Texts(texts.iter().map(|text| Cow::Borrowed(&**text)).collect())
    }
}

impl From<&[Digest]> for Value<'_> {
    fn from(hashes: &[Digest]) -> Self {
        let hashes = hashes.iter().map(|hash| Cow::Owned(hash.to_string()));
        Self::Texts(hashes.collect())
    }
}

impl From<&[RunId]> for Value<'_> {
    fn from(runs: &[RunId]) -> Self {
        Self::Ids(runs.iter().map(|run| run.as_uuid()).collect())
    }
}

impl From<&[CauseId]> for Value<'_> {
    fn from(causes: &[CauseId]) -> Self {
        Self::Ids(causes.iter().map(|cause| cause.as_uuid()).collect())
    }
}

impl From<Vec<i64>> for Value<'_> {
    fn from(numbers: Vec<i64>) -> Self {
        Self::Integers(numbers)
    }
}
