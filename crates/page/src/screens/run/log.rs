//! The log of a run in windows, and the ways to its attempts.

use askama::Template;
use cts_proto::log::v1::{LogStream, ReadLogWindowResponse};

use super::answer::RunCalls;
use super::log_lines::{Attempt, by_attempt, without_colours};
use crate::address::Query;
use crate::context::{Context, Refusal};
use crate::state::has_ended;
use crate::text::Foreign;

/// Most lines that are shown at once.
const LINES: u32 = 1000;

/// The lines of the log that a query chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    part: Part,
    /// Only lines of the attempt with this number; 0 for all.
    attempt: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The last lines.
    Tail,
    /// Lines around the one at this position.
    Line(u64),
    Before(u64),
    After(u64),
}

impl Place {
    /// A value that is not a number does not count.
    pub(super) fn of(query: &Query) -> Self {
        let number = |name| query.get(name).parse().ok();
        let from_one = |name| number(name).filter(|position| *position > 0);
        let part = [
            from_one("line").map(Part::Line),
            from_one("before").map(Part::Before),
            number("after").map(Part::After),
        ];
        Self {
            part: part.into_iter().flatten().next().unwrap_or(Part::Tail),
            attempt: query.get("attempt").parse().unwrap_or(0),
        }
    }

    /// Whether the last lines of all attempts are shown, which a run that goes on adds to.
    pub(super) fn is_tail(self) -> bool {
        self.part == Part::Tail && self.attempt == 0
    }

    /// The parameters of REST for these lines.
    fn parameters(self) -> String {
        let part = match self.part {
            Part::Tail => format!("tail={LINES}"),
            Part::Line(position) => format!("around={position}&limit={LINES}"),
            Part::Before(position) => format!("before={position}&limit={LINES}"),
            Part::After(position) => format!("after={position}&limit={LINES}"),
        };
        part + &self.of_attempt("&")
    }

    fn of_attempt(self, joint: &str) -> String {
        match self.attempt {
            0 => String::new(),
            number => format!("{joint}attempt={number}"),
        }
    }

    /// Positions of the first and the last line that could be shown.
    fn bounds(self, window: &ReadLogWindowResponse) -> (u64, u64) {
        let mut attempts = window.attempts.iter().rev();
        let attempt = attempts.find(|it| it.number == self.attempt);
        attempt.map_or((1, window.last_position), |it| {
            (
                it.first_position,
                it.first_position + it.lines.saturating_sub(1),
            )
        })
    }
}

#[derive(Template)]
#[template(path = "run/log.html")]
struct LogSection<'a> {
    /// Address of the screen.
    screen: String,
    window: &'a ReadLogWindowResponse,
    groups: Vec<Attempt<'a>>,
    /// Positions of the first and the last shown line.
    shown: Option<(u64, u64)>,
    /// Positions of the first and the last line that could be shown.
    all: (u64, u64),
    /// Position of the wanted line; 0 without one.
    marked: u64,
    is_followed: bool,
    search: &'a str,
    /// Numbers of the attempts.
    attempts: Vec<u32>,
    place: Place,
}

impl LogSection<'_> {
    fn is_tail(&self) -> bool {
        self.place.is_tail()
    }

    /// End of an address that keeps the attempt.
    fn of_attempt(&self, joint: &str) -> String {
        self.place.of_attempt(joint)
    }
}

pub(super) async fn render(
    calls: &RunCalls,
    query: &Query,
    context: &Context<'_>,
) -> Result<String, Refusal> {
    let place = Place::of(query);
    let run = calls.run(context).await?;
    let window = context.get(&calls.log(&place.parameters())).await;
    let window: ReadLogWindowResponse = window.map_err(|refusal| Refusal {
        message: format!("The log is not shown: {}", refusal.message),
        ..refusal
    })?;
    let marked = match place.part {
        Part::Line(position) => position,
        _ => 0,
    };
    let shown = window.lines.first().zip(window.lines.last());
    let shown = shown.map(|(first, last)| (first.position, last.position));
    let reaches_end = shown.map_or(0, |(_, last)| last) == window.last_position;
    let mut attempts: Vec<u32> = run.attempt_records.iter().map(|it| it.number).collect();
    attempts.dedup();
    let log = LogSection {
        screen: calls.address(context),
        groups: by_attempt(&window),
        shown,
        all: place.bounds(&window),
        marked,
        is_followed: place.is_tail() && reaches_end && !has_ended(&run),
        search: query.get("search"),
        attempts,
        place,
        window: &window,
    };
    Ok(log.render().unwrap_or_default())
}
