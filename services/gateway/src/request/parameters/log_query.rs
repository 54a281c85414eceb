//! The query of the log of a run.

use cts_proto::log::v1::{ReadLogWindowRequest, SearchLogRequest};

use super::{ParameterError, choice, plain_number, read};
use crate::request::query::pairs;

/// Most lines of a window.
const MOST_LINES: u32 = 5000;

/// Most bytes of the text of a search.
const LONGEST_TEXT: usize = 1024;

/// The parameters that choose a part of the log.
const NAMES: [&str; 9] = [
    "after", "before", "around", "tail", "limit", "attempt", "line", "search", "follow",
];

/// The sets of parameters that fit together.
const TOGETHER: [&[&str]; 7] = [
    &["after", "follow"],
    &["after", "limit", "attempt"],
    &["before", "limit", "attempt"],
    &["around", "limit", "attempt"],
    &["tail", "attempt"],
    &["search", "attempt"],
    &["line"],
];

/// How the log of a run is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Its lines.
    Text,
    /// Objects with lines, their streams and positions, one object per line.
    Ndjson,
}

/// The wanted part of a log. Requests lack the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LogPart {
    /// All lines after a position.
    Rest { after: u64, follow: bool },
    /// One line, which is not cut.
    Line(u64),
    /// A window of lines, which may be cut.
    Window(ReadLogWindowRequest),
    /// The lines that contain a text.
    Search(SearchLogRequest),
}

pub(crate) fn log(query: Option<&str>) -> Result<(LogPart, LogFormat), ParameterError> {
    let pairs = pairs(query.unwrap_or_default());
    let format = choice(
        &pairs,
        "format",
        "text or ndjson",
        &[("text", LogFormat::Text), ("ndjson", LogFormat::Ndjson)],
    )?;
    let follow = choice(
        &pairs,
        "follow",
        "true or false",
        &[("true", true), ("false", false)],
    )?;
    let position = |name| {
        read(&pairs, name, "the number of a line", |text| {
            plain_number(text).filter(|number: &u64| *number > 0)
        })
    };
    let lines = |name| {
        read(&pairs, name, "a number from 1 to 5000", |text| {
            plain_number(text).filter(|number| (1..=MOST_LINES).contains(number))
        })
    };
    let after = read(&pairs, "after", "a position", plain_number)?;
    let (before, around) = (position("before")?, position("around")?);
    let (tail, limit) = (lines("tail")?, lines("limit")?);
    let line = position("line")?;
    let attempt = read(&pairs, "attempt", "the number of an attempt", |text| {
        plain_number(text).filter(|number: &u32| *number > 0)
    })?;
    let text = read(&pairs, "search", "a text of 1 to 1024 bytes", |text| {
        (1..=LONGEST_TEXT)
            .contains(&text.len())
            .then(|| text.to_owned())
    })?;

    let given = |name: &&str| pairs.iter().any(|(given, _)| given == name);
    let fits = |set: &&[&str]| !NAMES.iter().any(|name| given(name) && !set.contains(name));
    if !TOGETHER.iter().any(fits) {
        let name = *NAMES.iter().rfind(|name| given(name)).unwrap_or(&"follow");
        let expected = "left out beside the other parameters";
        return Err(ParameterError { name, expected });
    }

    let is_window = before.or(around).is_some() || tail.or(limit).or(attempt).is_some();
    let (run_id, attempt) = (String::new(), attempt.unwrap_or(0));
    let part = if let Some(line) = line {
        LogPart::Line(line)
    } else if let Some(text) = text {
        LogPart::Search(SearchLogRequest {
            run_id,
            attempt,
            text,
        })
    } else if is_window {
        LogPart::Window(ReadLogWindowRequest {
            run_id,
            attempt,
            lines: tail.or(limit).unwrap_or(0),
            after_position: after,
            before_position: before,
            around_position: around,
        })
    } else {
        LogPart::Rest {
            after: after.unwrap_or(0),
            follow: follow.unwrap_or(false),
        }
    };
    Ok((part, format.unwrap_or(LogFormat::Text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(query: &str) -> LogPart {
        log(Some(query)).unwrap().0
    }

    #[test]
    fn logs_are_asked_for_as_text_and_once() {
        let rest = |after, follow| LogPart::Rest { after, follow };
        let text = (rest(0, false), LogFormat::Text);
        assert_eq!(log(None), Ok(text.clone()));
        assert_eq!(log(Some("follow=false&format=text&after=0")), Ok(text));
        assert_eq!(
            log(Some("follow=true&format=ndjson&after=17")),
            Ok((rest(17, true), LogFormat::Ndjson))
        );
    }

    #[test]
    fn windows_are_asked_for_at_one_place() {
        let window = ReadLogWindowRequest::default();
        let cases = [
            (
                "tail=5000",
                ReadLogWindowRequest {
                    lines: 5000,
                    ..window.clone()
                },
            ),
            (
                "limit=7",
                ReadLogWindowRequest {
                    lines: 7,
                    ..window.clone()
                },
            ),
            (
                "attempt=2",
                ReadLogWindowRequest {
                    attempt: 2,
                    ..window.clone()
                },
            ),
            (
                "before=9&attempt=1",
                ReadLogWindowRequest {
                    attempt: 1,
                    before_position: Some(9),
                    ..window.clone()
                },
            ),
            (
                "around=9&limit=10",
                ReadLogWindowRequest {
                    lines: 10,
                    around_position: Some(9),
                    ..window.clone()
                },
            ),
            (
                "after=0&limit=10",
                ReadLogWindowRequest {
                    lines: 10,
                    after_position: Some(0),
                    ..window
                },
            ),
        ];
        for (query, expected) in cases {
            assert_eq!(part(query), LogPart::Window(expected), "{query}");
        }
    }

    #[test]
    fn lines_and_searches_are_asked_for() {
        assert_eq!(part("line=17"), LogPart::Line(17));
        let search = |attempt, text: &str| {
            LogPart::Search(SearchLogRequest {
                run_id: String::new(),
                attempt,
                text: text.to_owned(),
            })
        };
        assert_eq!(part("search=a+b%20%2B.*"), search(0, "a b +.*"));
        assert_eq!(part("search=x&attempt=3"), search(3, "x"));
    }

    #[test]
    fn other_values_and_combinations_are_refused() {
        for query in [
            "follow",
            "follow=1",
            "follow=TRUE",
            "format=json",
            "after=-1",
            "after=",
            "after=+1",
            "after=99999999999999999999",
            "follow=true&follow=true",
            "before=0",
            "around=x",
            "line=0",
            "tail=0",
            "tail=5001",
            "limit=5001",
            "attempt=0",
            "search=",
            "before=1&after=1",
            "tail=1&before=1",
            "search=a&line=1",
            "limit=1&tail=1",
            "limit=1&search=a",
            "attempt=1&line=1",
            "follow=true&tail=1",
            "follow=true&attempt=1",
            "follow=true&search=a",
            "follow=true&line=1",
        ] {
            let error = log(Some(query)).unwrap_err();
            assert!(query.contains(error.name), "{query} {error}");
        }
        let long = format!("search={}", "x".repeat(1025));
        assert!(log(Some(&long)).is_err());
    }
}
