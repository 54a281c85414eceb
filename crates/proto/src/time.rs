//! Well-known time types.

use std::time::Duration;

use chrono::{DateTime, Utc};

/// Converts a duration for the wire; one too long for it becomes the longest possible one.
pub fn duration_to_wire(duration: Duration) -> prost_types::Duration {
    prost_types::Duration::try_from(duration).unwrap_or(prost_types::Duration {
        seconds: i64::MAX,
        nanos: 0,
    })
}

/// A duration from the wire; absent or negative becomes zero.
pub fn duration_from_wire(duration: Option<&prost_types::Duration>) -> Duration {
    duration
        .and_then(|duration| Duration::try_from(*duration).ok())
        .unwrap_or_default()
}

/// A moment for the wire.
pub fn timestamp_to_wire(at: DateTime<Utc>) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds: at.timestamp(),
        nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap_or(999_999_999),
    }
}

/// A moment from the wire; absent or out of range is `None`.
pub fn timestamp_from_wire(at: Option<&prost_types::Timestamp>) -> Option<DateTime<Utc>> {
    let at = at?;
    DateTime::from_timestamp(at.seconds, u32::try_from(at.nanos).ok()?)
}
