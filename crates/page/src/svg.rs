//! Drawings. Numbers are whole, so that equal data are equal bytes; each drawing has its data in a table besides.

use std::fmt::Write as _;

use crate::state::State;
use crate::text::{Attribute, Markup};
use crate::time::Millis;

/// A result in [`bars`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bar {
    pub(crate) state: State,
    /// How long it took; `None` before its end.
    pub(crate) took: Option<Millis>,
    /// When it was, for display.
    pub(crate) at: String,
}

/// A bar for each result, the oldest first: the longer, the higher. A failed one is a spike.
pub(crate) fn bars(results: &[Bar]) -> Markup {
    const HEIGHT: u32 = 40;
    let width = results.len() * 10;
    let mut svg = format!(
        "<svg class=\"bars\" viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" height=\"{HEIGHT}\" role=\"img\">\
         <title>The last {} runs, the oldest first</title>",
        results.len()
    );
    for (x, bar) in (0..).step_by(10).zip(results) {
        let took = bar.took.map_or(0, |took| took.0);
        let height = (8 + steps(took / 500) / 2).min(HEIGHT);
        let (State(name), y) = (&bar.state, HEIGHT - height);
        let length = bar.took.map(|took| format!(", {took}")).unwrap_or_default();
        let title = format!("{}, {}{length}", bar.at, name.replace('_', " "));
        let (points, title) = (
            match name.as_str() {
                "failed" => format!("{x},{HEIGHT} {},{y} {},{HEIGHT}", x + 4, x + 8),
                _ => format!("{x},{HEIGHT} {x},{y} {},{y} {},{HEIGHT}", x + 8, x + 8),
            },
            Attribute(&title),
        );
        let _infallible = write!(
            svg,
            "<polygon class=\"state-{name}\" points=\"{points}\"><title>{title}</title></polygon>"
        );
    }
    Markup(svg + "</svg>")
}

/// An interval in [`band`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// Place of the interval, from 0.
    pub(crate) place: u32,
    /// Times within which half of its changes, and 95 of 100, were applied.
    pub(crate) half: Millis,
    pub(crate) most: Millis,
}

/// A band from the time of half of the changes to that of 95 of 100, over a logarithmic scale.
pub(crate) fn band(title: &str, ranges: &[Range]) -> Markup {
    /// Intervals of a day of hours, and the one that has begun.
    const PLACES: u32 = 25;
    const STEP: u32 = 20;
    const BOTTOM: u32 = 110;
    let width = PLACES * STEP;
    let half = ranges.iter().map(|range| range.half.0);
    let most = ranges.iter().map(|range| range.most.0);
    let (low, high) = (half.min().unwrap_or(0), most.max().unwrap_or(0));
    let scale = steps(high).saturating_sub(steps(low)).max(1);
    let y =
        |time: Millis| BOTTOM - (steps(time.0).saturating_sub(steps(low)) * 100 / scale).min(100);
    let mut svg = format!(
        "<svg class=\"band\" viewBox=\"0 0 {width} 124\" width=\"{width}\" height=\"124\" role=\"img\"><title>{}</title>\
         <line class=\"axis\" x1=\"0\" x2=\"{width}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>",
        Attribute(title)
    );
    for range in ranges {
        let x = range.place.min(PLACES - 1) * STEP;
        let (top, middle) = (y(range.most), y(range.half));
        let height = middle.saturating_sub(top) + 2;
        let _infallible = write!(
            svg,
            "<rect class=\"spread\" x=\"{x}\" y=\"{top}\" width=\"{STEP}\" height=\"{height}\"/>\
             <line class=\"half\" x1=\"{x}\" x2=\"{}\" y1=\"{middle}\" y2=\"{middle}\"/>",
            x + STEP
        );
    }
    let _infallible = write!(
        svg,
        "<text x=\"0\" y=\"9\">{}</text><text x=\"0\" y=\"122\">{}</text></svg>",
        Millis(high),
        Millis(low)
    );
    Markup(svg)
}

/// The logarithm of a time in eighths between its doublings.
fn steps(time: u64) -> u32 {
    let time = time.max(1);
    let doublings = time.ilog2();
    let eighths = (u128::from(time) << 3 >> doublings) & 7;
    doublings * 8 + u32::try_from(eighths).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_increase_by_eight_with_each_doubling() {
        assert_eq!([0, 1, 2, 3, 4, 9, 16].map(steps), [0, 0, 8, 12, 16, 25, 32]);
        assert_eq!(steps(u64::MAX), 63 * 8 + 7);
        assert!((1..5000).all(|time| steps(time) <= steps(time + 1)));
    }

    #[test]
    fn bars_of_failed_runs_have_another_shape() {
        let bar = |state: &str, took| Bar {
            state: State(state.to_owned()),
            took,
            at: "12:00".to_owned(),
        };
        let Markup(svg) = bars(&[
            bar("succeeded", Some(Millis(2_000))),
            bar("failed", Some(Millis(u64::MAX))),
            bar("running", None),
        ]);
        insta::assert_snapshot!(svg.replace("<p", "\n<p"));
    }

    #[test]
    fn the_band_stays_within_its_drawing() {
        let range = |place, half, most| Range {
            place,
            half: Millis(half),
            most: Millis(most),
        };
        let Markup(svg) = band(
            "<times>",
            &[
                range(0, 100, 400),
                range(1, 7, 6),
                range(u32::MAX, 1, u64::MAX),
            ],
        );
        insta::assert_snapshot!(svg.replace("<r", "\n<r").replace("<t", "\n<t"));
        let Markup(empty) = band("times", &[]);
        assert!(empty.starts_with("<svg"), "{empty}");
    }
}
