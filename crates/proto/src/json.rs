//! The form of messages in the REST API: answers of cts's own endpoints serialise themselves, and clients read the
//! same messages.
//!
//! `tests/generated` puts serde's attributes on these messages, by the options of `proto/cts/json/v1`, and names the
//! helpers below in them. Members come in the order of the fields in `proto/`.

mod planned_value;
mod run_output;
mod state;
mod words;

use std::cell::RefCell;
use std::sync::Arc;

use chrono::{DateTime, FixedOffset, Utc};
use prost_types::Duration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::state::{KnownState, StateConflict, StateIdentity};
pub use self::words::Word;
pub(crate) use self::words::Words;
pub use crate::time_text::TimeText;

/// Moves a moment to the UTC offset that a place has at that moment.
pub type LocalTime = Arc<dyn Fn(DateTime<Utc>) -> DateTime<FixedOffset> + Send + Sync>;

thread_local! {
    static LOCAL_TIME: RefCell<Option<LocalTime>> = const { RefCell::new(None) };
}

/// Serialises messages by `write` with their times in `local_time` instead of UTC.
///
/// The place is kept by the thread meanwhile, since serde passes nothing on to the fields of a message.
pub fn in_local_time<T>(local_time: &LocalTime, write: impl FnOnce() -> T) -> T {
    /// Restores the place from before, even if `write` panics.
    struct Before(Option<LocalTime>);

    impl Drop for Before {
        fn drop(&mut self) {
            LOCAL_TIME.set(self.0.take());
        }
    }

    let _before = Before(LOCAL_TIME.replace(Some(Arc::clone(local_time))));
    write()
}

/// Moments; absent ones and ones out of range are `null`.
pub mod time {
    use prost_types::Timestamp;

    use super::*;
    use crate::time::{timestamp_from_wire, timestamp_to_wire};

    /// Whether there is nothing to be shown.
    pub fn is_absent(at: &Option<Timestamp>) -> bool {
        timestamp_from_wire(at.as_ref()).is_none()
    }

    /// Writes RFC 3339.
    pub fn serialize<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
        let shown = timestamp_from_wire(at.as_ref()).map(|at| {
            TimeText(LOCAL_TIME.with_borrow(|local_time| match local_time {
                Some(local_time) => local_time(at),
                None => at.fixed_offset(),
            }))
        });
        shown.serialize(to)
    }

    /// Reads RFC 3339.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Timestamp>, D::Error> {
        let at: Option<DateTime<Utc>> = Deserialize::deserialize(from)?;
        Ok(at.map(timestamp_to_wire))
    }
}

/// A module of helpers for durations as whole numbers of a unit.
macro_rules! durations {
    ($(#[$doc:meta])* $unit:ident, $number:ident, $from:ident) => {
        $(#[$doc])*
        pub(crate) mod $unit {
            use super::*;
            use crate::time::{duration_from_wire, duration_to_wire};

            pub(crate) fn serialize<S: Serializer>(
                time: &Option<Duration>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                let number = |time| duration_from_wire(Some(time)).$number();
                let number = time.as_ref().map(number);
                number.map(|number| u64::try_from(number).unwrap_or(u64::MAX)).serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Option<Duration>, D::Error> {
                let number: Option<u64> = Deserialize::deserialize(from)?;
                Ok(number.map(|number| duration_to_wire(std::time::Duration::$from(number))))
            }
        }
    };
}

durations!(
    /// Durations in whole milliseconds, or `null`.
    milliseconds,
    as_millis,
    from_millis
);
durations!(
    /// Durations in whole seconds, or `null`.
    seconds,
    as_secs,
    from_secs
);

/// Durations in whole seconds; absent ones are 0.
pub(crate) mod seconds_or_zero {
    pub(crate) use super::seconds::deserialize;
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        seconds::serialize(&Some(time.unwrap_or_default()), to)
    }
}

/// Messages of which an absent one is shown as an empty one.
pub(crate) mod or_empty {
    use super::*;

    pub(crate) fn serialize<T: Default + Serialize, S: Serializer>(
        message: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match message {
            Some(message) => message.serialize(to),
            None => T::default().serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        T::deserialize(from).map(Some)
    }
}

/// Whether a value is left out, where answers leave empty ones out.
pub(crate) fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
