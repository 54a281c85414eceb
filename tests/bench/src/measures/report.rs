//! Output: a table for people, or one JSON object per line; and progress on standard error.

use std::borrow::Cow;
use std::io::Write as _;

use serde_json::json;

use crate::measures::sample::Sample;

/// One figure.
#[derive(Debug, Clone)]
pub(crate) struct Metric {
    pub(crate) name: Cow<'static, str>,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
}

impl Metric {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, value: f64, unit: &'static str) -> Self {
        let name = name.into();
        Self { name, value, unit }
    }
}

/// The median over rounds of each figure; all rounds have the same figures.
pub(crate) fn median_of_rounds(rounds: &[Vec<Metric>]) -> Vec<Metric> {
    let Some(first) = rounds.first() else {
        return Vec::new();
    };
    let median = |(index, metric): (usize, &Metric)| {
        let over_rounds: Sample = rounds
            .iter()
            .filter_map(|round| round.get(index))
            .map(|metric| metric.value)
            .collect();
        Metric::new(metric.name.clone(), over_rounds.median(), metric.unit)
    };
    first.iter().enumerate().map(median).collect()
}

/// Prints the result on standard output.
pub(crate) fn print(scenario: &str, metrics: &[Metric], as_json: bool) {
    let text = if as_json {
        json_lines(scenario, metrics)
    } else {
        table(scenario, metrics)
    };
    // There may be no reader any more.
    drop(std::io::stdout().write_all(text.as_bytes()));
}

/// Prints progress on standard error.
pub(crate) fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}

fn json_lines(scenario: &str, metrics: &[Metric]) -> String {
    let line = |metric: &Metric| {
        let value = (metric.value * 1e6).round() / 1e6;
        let object = json!({
            "scenario": scenario, "metric": metric.name, "value": value, "unit": metric.unit,
        });
        format!("{object}\n")
    };
    metrics.iter().map(line).collect()
}

fn table(scenario: &str, metrics: &[Metric]) -> String {
    let width = metrics.iter().map(|metric| metric.name.len()).max();
    let width = width.unwrap_or_default();
    let row = |metric: &Metric| {
        format!(
            "  {:width$}  {:>10.3} {}\n",
            metric.name, metric.value, metric.unit
        )
    };
    std::iter::once(format!("{scenario}\n"))
        .chain(metrics.iter().map(row))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_is_the_median_of_its_rounds() {
        let round = |a, b| vec![Metric::new("a", a, "s"), Metric::new("b", b, "ms")];
        let merged = median_of_rounds(&[round(3.0, 10.0), round(1.0, 30.0), round(2.0, 20.0)]);
        assert_eq!(table("x", &merged), table("x", &round(2.0, 20.0)));
    }
}
