//! The content of the journal, and its file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};

use cts_core::{JournalEntry, TaskName, WorkerId};

use super::lines::{self, Line};

/// Most lives that the worker vouches for: schedulers forget silent workers after a day.
pub(super) const LIVES_KEPT: usize = 32;

/// Most tasks whose entries are kept: the entry whose last attempt began longest ago goes first.
const TASKS_KEPT: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct State {
    /// `None` after a failure.
    pub(super) file: Option<File>,
    pub(super) lives: Vec<WorkerId>,
    /// Entries with a number that increases from begin to begin.
    pub(super) entries: HashMap<TaskName, (u64, JournalEntry)>,
    last: u64,
    /// Lines of the file.
    pub(super) lines: usize,
}

impl State {
    /// Takes the content of a file.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let (lines, damaged) = lines::read(bytes);
        for line in lines {
            self.apply(line);
        }
        if damaged {
            tracing::warn!(
                "the journal of earlier lives is damaged; this worker does not vouch for them after a failover of the database"
            );
            self.lives.clear();
        }
    }

    pub(super) fn apply(&mut self, line: Line) {
        match line {
            Line::Life(life) => self.lives.push(life),
            Line::Begin(entry) => {
                self.last += 1;
                self.entries.insert(entry.task.clone(), (self.last, entry));
            }
            Line::End {
                task,
                run,
                epoch,
                outcome,
            } => {
                if let Some((_, entry)) = self.entries.get_mut(&task)
                    && (entry.run, entry.epoch) == (run, epoch)
                {
                    entry.outcome = Some(outcome);
                }
            }
        }
    }

    /// The lines of a file that has only the lines that count.
    pub(super) fn all_lines(&mut self) -> Vec<Line> {
        self.bound();
        let lives = self.lives.iter().map(|life| Line::Life(life.clone()));
        let mut entries: Vec<_> = self.entries.values().collect();
        entries.sort_unstable_by_key(|(number, _)| *number);
        let entries = entries.into_iter().flat_map(|(_, entry)| lines::of(entry));
        lives.chain(entries).collect()
    }

    fn bound(&mut self) {
        let beyond = self.lives.len().saturating_sub(LIVES_KEPT);
        self.lives.drain(..beyond);
        if let Some(beyond) = self.entries.len().checked_sub(TASKS_KEPT) {
            let mut numbers: Vec<u64> = self.entries.values().map(|(number, _)| *number).collect();
            numbers.sort_unstable();
            if let Some(&first) = numbers.get(beyond) {
                self.entries.retain(|_task, (number, _)| *number >= first);
            }
        }
    }

    /// Appends a line. After a failure the journal has no file, and nothing is written.
    pub(super) fn append(&mut self, line: &Line) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.write_all(line.to_string().as_bytes())?;
        self.lines += 1;
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.as_ref().map_or(Ok(()), File::sync_data)
    }
}
