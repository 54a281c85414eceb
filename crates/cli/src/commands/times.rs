//! How long changes took until they were applied, as a table.

use std::iter::once;

use cts_api_client::Times;
use cts_proto::cluster::v1::{Percentiles, TimesOfChanges};

use super::table::table;
use super::time_text::{length, local, moment};
use crate::arguments::TableWidth;

/// The columns: the begin of the interval, and the phases.
const HEADER: [&str; 7] = [
    "FROM",
    "APPLIED",
    "BUFFERED",
    "QUEUED",
    "TERRAFORM",
    "BLOCKED",
    "WAITING",
];

/// A row for the whole time and one for each interval in which changes were applied.
pub(crate) fn page(times: &Times, width: TableWidth) -> String {
    let total = times.total.clone().unwrap_or_default();
    let begin = |times: &TimesOfChanges| moment(times.at).map(local).unwrap_or_default();
    let intervals = times.intervals.iter().map(|it| (begin(it), it));
    let rows = once(("all".to_owned(), &total)).chain(intervals);
    let rows = rows.map(|(begin, times)| {
        HEADER.map(|column| match column {
            "FROM" => begin.clone(),
            phase => {
                let times = times.phases.get(&phase.to_lowercase());
                times.map(cell).unwrap_or_default()
            }
        })
    });
    let table = table(HEADER, rows, width);
    let since = begin(&total);
    format!("Changes since {since}, as number: p50 / p95 / p99\n\n{table}")
}

fn cell(times: &Percentiles) -> String {
    let shown = [times.p50, times.p95, times.p99].into_iter().flatten();
    let shown: Vec<String> = shown.map(length).collect();
    format!("{}: {}", times.count, shown.join(" / "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use cts_proto::cluster::v1::GetTimesResponse;
    use prost_types::{Duration, Timestamp};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_whole_time_comes_before_its_intervals() {
        let percentiles = |count, seconds: i64| {
            let time = |seconds| Some(Duration { seconds, nanos: 0 });
            Percentiles {
                count,
                p50: time(seconds),
                p95: time(seconds * 10),
                p99: time(seconds * 100),
            }
        };
        let at = |hours: i64| {
            let seconds = 1_770_105_600 + hours * 3600;
            Some(Timestamp { seconds, nanos: 0 })
        };
        let interval = TimesOfChanges {
            at: at(1),
            phases: BTreeMap::from([
                ("applied".to_owned(), percentiles(7, 2)),
                ("waiting".to_owned(), percentiles(1, 60)),
                ("painted".to_owned(), percentiles(1, 1)),
            ]),
        };
        let times = GetTimesResponse {
            interval: None,
            total: Some(TimesOfChanges {
                at: at(0),
                ..interval.clone()
            }),
            intervals: vec![interval],
        };
        let times: Times = serde_json::from_value(json!(times)).unwrap();
        let shown = page(&times, TableWidth::Whole);
        let of = |hours| local(moment(at(hours)).unwrap());
        let lines: Vec<&str> = shown.lines().collect();
        let [first, "", header, rows @ ..] = &lines[..] else {
            panic!("{shown}");
        };
        assert!(first.contains(&of(0)), "{shown}");
        assert!(header.starts_with("FROM "), "{shown}");
        let rows = rows.iter().map(|row| {
            let cells = row.split("  ").map(str::trim);
            cells.filter(|cell| !cell.is_empty()).collect()
        });
        let rows: Vec<Vec<&str>> = rows.collect();
        let applied = "7: 2.0 s / 20.0 s / 3 min 20 s";
        let waiting = "1: 1 min 0 s / 10 min 0 s / 1 h 40 min";
        let second = of(1);
        assert_eq!(
            rows,
            [["all", applied, waiting], [&second, applied, waiting]]
        );
    }
}
