//! How long changes took until they were applied.

use cts_proto::cluster::v1::{GetTimesResponse, Percentiles, TimesOfChanges};

use crate::svg::{self, Range};
use crate::text::Markup;
use crate::time::Millis;

/// The changes of an interval that were applied; `None` without one.
pub(super) fn applied(times: &TimesOfChanges) -> Option<&Percentiles> {
    times.phases.get("applied")
}

/// The intervals as a band.
pub(super) fn drawing(times: &GetTimesResponse) -> Markup {
    let length = times.interval.map_or(1, |interval| interval.seconds.max(1));
    let seconds = |times: &TimesOfChanges| times.at.map_or(0, |at| at.seconds);
    let begin = times.total.as_ref().map_or(0, seconds);
    let ranges = times.intervals.iter().filter_map(|interval| {
        let applied = applied(interval)?;
        Some(Range {
            place: u32::try_from((seconds(interval) - begin) / length).unwrap_or(0),
            half: Millis::of(applied.p50.as_ref()?),
            most: Millis::of(applied.p95.as_ref()?),
        })
    });
    let title = "From a change until it is applied, by hour: from the time of half of the changes to that of 95 of 100";
    svg::band(title, &ranges.collect::<Vec<_>>())
}
