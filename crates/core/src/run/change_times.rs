//! How long changes take until they are applied, as histograms that can be added (docs/rest.md#times).

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Buckets from a power of two to the next one, as a power of two: a bucket is at most an eighth wide.
const SPLIT: u32 = 3;

/// Numbers of durations by exponential buckets. Stored as JSON, so the number of a bucket keeps its meaning.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram(BTreeMap<u64, u64>);

impl Histogram {
    /// Number of durations.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// End of the bucket up to which this percentage of the durations lies; `None` without durations.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = self.count().saturating_mul(percent).div_ceil(100);
        let mut counted = 0;
        let (bucket, _) = self.0.iter().find(|(_, count)| {
            counted += *count;
            counted >= rank
        })?;
        let shift = u32::try_from((bucket >> SPLIT).saturating_sub(1)).ok()?;
        let end = bucket % (1 << SPLIT) + (1 << SPLIT) + 1;
        Some(Duration::from_micros(end.checked_shl(shift)?))
    }
}

/// A moment, or the begin of an interval, with the times of its changes.
pub type TimesAt = (DateTime<Utc>, TimeHistograms);

/// Histograms by the name of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeHistograms(pub BTreeMap<String, Histogram>);

impl TimeHistograms {
    /// Counts a duration.
    pub fn record(&mut self, phase: &str, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or_default();
        let micros = micros.max(1 << SPLIT);
        let shift = micros.ilog2() - SPLIT;
        let bucket = (u64::from(shift) << SPLIT) + (micros >> shift);
        let histogram = self.0.entry(phase.to_owned()).or_default();
        *histogram.0.entry(bucket).or_default() += 1;
    }

    /// Counts the durations of other histograms.
    pub fn add(&mut self, other: &Self) {
        for (phase, added) in &other.0 {
            let histogram = self.0.entry(phase.clone()).or_default();
            for (bucket, count) in &added.0 {
                *histogram.0.entry(*bucket).or_default() += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Histograms of one phase.
    fn recorded(durations: impl IntoIterator<Item = Duration>) -> TimeHistograms {
        let mut times = TimeHistograms::default();
        for took in durations {
            times.record("applied", took);
        }
        times
    }

    fn applied(times: &TimeHistograms) -> &Histogram {
        &times.0["applied"]
    }

    #[test]
    fn a_histogram_without_durations_has_no_percentile() {
        assert_eq!(Histogram::default().percentile(50), None);
        assert_eq!(Histogram::default().count(), 0);
    }

    #[test]
    fn stored_histograms_keep_their_meaning() {
        let mut times = recorded([Duration::from_secs(1), Duration::from_secs(1)]);
        times.record("queued", Duration::ZERO);
        let stored = serde_json::to_string(&times).unwrap();
        assert_eq!(stored, r#"{"applied":{"143":2},"queued":{"8":1}}"#);
        let read: TimeHistograms = serde_json::from_str(&stored).unwrap();
        assert_eq!(read, times);
    }

    #[test]
    fn short_and_long_durations_are_counted() {
        let year = Duration::from_hours(365 * 24);
        let times = recorded([Duration::ZERO, year]);
        let applied = applied(&times);
        assert_eq!(applied.count(), 2);
        assert_eq!(applied.percentile(50), Some(Duration::from_micros(9)));
        assert!(applied.percentile(51) > Some(year));
        assert!(applied.percentile(99) < Some(year * 9 / 8));
    }

    proptest! {
        #[test]
        fn percentiles_are_at_most_an_eighth_too_long(
            mut micros in prop::collection::vec(8_u64..1 << 45, 1..200),
            split in any::<prop::sample::Index>(),
            percent in 1_u64..=100,
        ) {
            let durations = |micros: &[u64]| recorded(micros.iter().copied().map(Duration::from_micros));
            let whole = durations(&micros);
            let (first, second) = micros.split_at(split.index(micros.len()));
            let mut sum = durations(first);
            sum.add(&durations(second));
            prop_assert_eq!(&sum, &whole);
            micros.sort_unstable();
            let rank = (micros.len() * usize::try_from(percent).unwrap()).div_ceil(100);
            let exact = micros[rank - 1];
            let shown = applied(&whole).percentile(percent).unwrap();
            let shown = u64::try_from(shown.as_micros()).unwrap();
            prop_assert!(shown > exact && shown <= exact + exact / 8 + 1, "{exact} {shown}");
        }
    }
}
