//! Many measurements of one thing.

use std::time::Duration;

/// Measurements of one thing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn add_milliseconds(&mut self, time: Duration) {
        self.add(time.as_secs_f64() * 1e3);
    }

    /// Adds all of another.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// The newest; not a number without any.
    pub(crate) fn last(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }

    /// The smallest measurement that `percent` of all do not exceed; not a number without any.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
    }
}

impl FromIterator<f64> for Sample {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measurements_that_were_made() {
        let sample: Sample = (1..=200).rev().map(f64::from).collect();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(sample.median(), 100.0));
        assert!(close(sample.percentile(99), 198.0));
        assert!(close(sample.percentile(100), 200.0));
        let one: Sample = [7.0].into_iter().collect();
        assert!(close(one.percentile(1), 7.0) && close(one.percentile(99), 7.0));
        assert!(Sample::default().median().is_nan());
    }
}
