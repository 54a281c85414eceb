//! The lines of a journal: a checksum and words.

use std::fmt;
use std::str::SplitAsciiWhitespace;

use chrono::{DateTime, Utc};
use cts_core::{Digest, JournalEntry, LeaseEpoch, RunId, TaskName, WorkerId};

/// Characters of the checksum.
const CHECKSUM: usize = 16;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// The following lines belong to this life of the worker.
    Life(WorkerId),
    /// An attempt begins.
    Begin(JournalEntry),
    /// The end of an attempt is confirmed.
    End {
        task: TaskName,
        run: RunId,
        epoch: LeaseEpoch,
        outcome: String,
    },
}

pub(super) fn of(entry: &JournalEntry) -> impl Iterator<Item = Line> {
    let end = entry.outcome.clone().map(|outcome| Line::End {
        task: entry.task.clone(),
        run: entry.run,
        epoch: entry.epoch,
        outcome,
    });
    let begin = Line::Begin(JournalEntry {
        outcome: None,
        ..entry.clone()
    });
    std::iter::once(begin).chain(end)
}

/// The lines of a file, and whether a line is damaged. A last line that was cut off does not count as damaged.
pub(super) fn read(bytes: &[u8]) -> (Vec<Line>, bool) {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n');
    let whole = whole.map_or(&[][..], |end| &bytes[..end]);
    let mut lines = Vec::new();
    let mut damaged = false;
    for line in whole.split(|byte| *byte == b'\n') {
        match std::str::from_utf8(line).ok().and_then(parse) {
            Some(line) => lines.push(line),
            None => damaged |= !whole.is_empty(),
        }
    }
    (lines, damaged)
}

fn parse(line: &str) -> Option<Line> {
    let (checksum, words) = line.split_once(' ')?;
    if checksum != checksum_of(words) {
        return None;
    }
    let mut words = words.split_ascii_whitespace();
    let line = match words.next()? {
        "life" => Line::Life(WorkerId::new(words.next()?)),
        "begin" => {
            let (task, run, epoch) = attempt(&mut words)?;
            Line::Begin(JournalEntry {
                task,
                run,
                epoch,
                input: words.next()?.parse().ok()?,
                began_at: moment(words.next()?)?,
                outcome: None,
            })
        }
        "end" => {
            let (task, run, epoch) = attempt(&mut words)?;
            Line::End {
                task,
                run,
                epoch,
                outcome: words.next()?.to_owned(),
            }
        }
        _ => return None,
    };
    Some(line)
}

fn attempt(words: &mut SplitAsciiWhitespace<'_>) -> Option<(TaskName, RunId, LeaseEpoch)> {
    let task = words.next()?.parse().ok()?;
    let run = words.next()?.parse().ok()?;
    let epoch = words.next()?.parse().ok()?;
    Some((task, run, LeaseEpoch::new(epoch)))
}

/// Microseconds since 1970; zero is not known.
#[expect(
    clippy::option_option,
    reason = "a word is bad, or says that a moment is not known, or has it"
)]
fn moment(word: &str) -> Option<Option<DateTime<Utc>>> {
    match word.parse().ok()? {
        0 => Some(None),
        micros => DateTime::from_timestamp_micros(micros).map(Some),
    }
}

fn checksum_of(words: &str) -> String {
    let mut checksum = Digest::of(words.as_bytes()).to_string();
    checksum.truncate(CHECKSUM);
    checksum
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Self::Life(life) => format!("life {life}"),
            Self::Begin(entry) => format!(
                "begin {} {} {} {} {}",
                entry.task,
                entry.run,
                entry.epoch.get(),
                entry.input,
                entry
                    .began_at
                    .map_or(0, |began_at| began_at.timestamp_micros())
            ),
            Self::End {
                task,
                run,
                epoch,
                outcome,
            } => format!("end {task} {run} {} {outcome}", epoch.get()),
        };
        writeln!(f, "{} {words}", checksum_of(&words))
    }
}
