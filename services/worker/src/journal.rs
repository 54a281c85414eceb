//! The journal: the runs that this worker has begun, kept on its disk.
//!
//! A failover of the scheduler's database may lose the last commits, and with them the grant of a run. Therefore the
//! begin of each attempt that may change something is on the disk before Terraform starts, and its end is noted once a
//! scheduler has confirmed the end. On a new timeline of the database the worker reports the last attempt at each task.
//!
//! A restore of the database may keep its timeline, and lose more. Therefore each leader gets the last attempts when it
//! begins, too, in parts, in parallel with other work. The leader compares these attempts with its runs; the reports
//! vouch for nothing.
//!
//! Each line has a checksum and describes a life of the worker, a begin or an end.
//!
//! * A last line that was cut off does not count: nothing was begun before it was on the disk.
//! * If any other line is damaged, entries may be missing: the worker vouches for no earlier life.
//! * If a line cannot be written, the file is removed, and the worker vouches for nothing until it is started
//!   again.

mod lines;
mod progress;
mod state;

use parking_lot::{Mutex, MutexGuard};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use cts_core::{Chain, JournalEntry, JournalPart, LeaseEpoch, RunId, TaskName, WorkerId};
use cts_rpc::chunks;
use tokio::time::Instant;

use self::lines::Line;
use self::progress::JournalProgress;
use self::state::State;

/// The file in the worker's directory; no task can have this name, because it has a dot.
const FILE: &str = "runs.journal";
const NEW_FILE: &str = "runs.journal.new";

/// The file is written again when it has this many lines more than twice the entries.
const LINES_BEYOND: usize = 1_000;

/// Bytes of an entry on the wire in addition to the name of its task, about.
const ENTRY_BYTES: usize = 160;

/// Most entries in one part of the comparison, so that one transaction of the scheduler is short.
const COMPARED_AT_ONCE: usize = 500;

/// Shared by all slots. Calls block on the disk unless their documentation says otherwise.
#[derive(Debug)]
pub(crate) struct Journal {
    directory: PathBuf,
    /// Whether an entry is on the disk before its attempt begins.
    syncs: bool,
    state: Mutex<State>,
    /// Never locked during a wait for the disk.
    progress: Mutex<JournalProgress>,
}

/// The report of the journal for a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JournalReport {
    /// Parts of the journal, in order.
    pub(crate) parts: Vec<JournalPart>,
    /// The number of attempts that had begun.
    pub(crate) begun: u64,
}

impl Journal {
    /// Reads the journal of earlier lives in `directory`, and begins the journal of this life.
    ///
    /// Unless `syncs` is set, entries survive the end of the process, but not the end of the machine.
    pub(crate) fn open(directory: &Path, life: &WorkerId, syncs: bool) -> Self {
        let journal = Self {
            directory: directory.to_owned(),
            syncs,
            state: Mutex::default(),
            progress: Mutex::default(),
        };
        {
            let mut state = journal.lock();
            match fs::read(directory.join(FILE)) {
                Ok(bytes) => state.take(&bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "the journal of earlier lives cannot be read; this worker does not vouch for them after a failover of the database");
                }
            }
            state.lives.push(life.clone());
            if let Err(error) = journal.write_anew(&mut state) {
                journal.fail(&mut state, &error);
            }
        }
        journal
    }

    /// Earlier lives of this worker, which have ended unless the directory was copied.
    pub(crate) fn earlier_lives(&self) -> Vec<WorkerId> {
        let state = self.lock();
        let (_own, earlier) = state.lives.split_last().unzip();
        earlier.map_or_else(Vec::new, <[WorkerId]>::to_vec)
    }

    /// Notes that an attempt begins. The entry is on the disk when this returns, if the journal syncs; if it fails,
    /// nothing may be begun.
    pub(crate) fn begin(&self, mut entry: JournalEntry, now: Instant) -> io::Result<()> {
        entry.began_at = self.progress().database_time(now);
        let mut state = self.lock();
        let line = Line::Begin(entry);
        state.apply(line.clone());
        self.progress().note_begin(now);
        let appended = state.append(&line);
        let synced = appended.and_then(|()| if self.syncs { state.sync() } else { Ok(()) });
        match synced {
            Ok(()) => self.compact(&mut state),
            Err(error) => {
                self.fail(&mut state, &error);
                // A journal that stays on the disk would vouch for this run after a restart.
                self.remove()?;
            }
        }
        Ok(())
    }

    /// Notes that a scheduler has confirmed the end of an attempt. No promise depends on whether this line reaches the
    /// disk.
    pub(crate) fn end(&self, task: &TaskName, run: RunId, epoch: LeaseEpoch, outcome: &str) {
        let mut state = self.lock();
        let line = Line::End {
            task: task.clone(),
            run,
            epoch,
            outcome: outcome.to_owned(),
        };
        state.apply(line.clone());
        if let Err(error) = state.append(&line) {
            self.fail(&mut state, &error);
        }
    }

    /// The scheduler's database had this time after the moment `asked`. Does not block.
    pub(crate) fn set_clock(&self, time: DateTime<Utc>, asked: Instant) {
        self.progress().clock = Some((time, asked));
    }

    /// Whether this timeline needs no report; true for a timeline without a name. Does not block.
    pub(crate) fn is_reported(&self, timeline: &str) -> bool {
        timeline.is_empty() || self.progress().is_reported(timeline)
    }

    /// The journal for a timeline of the database, in parts.
    pub(crate) fn report(&self, timeline: &str) -> JournalReport {
        // Read before the entries: if an attempt begins in between, the journal is reported again.
        let begun = self.progress().begun;
        let state = self.lock();
        let entries = state.entries.values().map(|(_, entry)| entry.clone());
        let mut parts: Vec<Vec<JournalEntry>> =
            chunks(entries, |entry| entry.task.as_str().len() + ENTRY_BYTES).collect();
        if parts.is_empty() {
            parts.push(Vec::new());
        }
        let lives = match state.file {
            Some(_) => state.lives.clone(),
            None => Vec::new(),
        };
        let last = parts.len() - 1;
        let part = |(number, entries)| JournalPart {
            timeline: timeline.to_owned(),
            lives: lives.clone(),
            entries,
            last: number == last,
        };
        JournalReport {
            begun,
            parts: parts.into_iter().enumerate().map(part).collect(),
        }
    }

    /// A report of this many attempts has arrived. If an attempt has begun since, the journal is reported
    /// again. Does not block.
    pub(crate) fn reported(&self, timeline: String, begun: u64, now: Instant) {
        let mut progress = self.progress();
        if progress.begun == begun {
            progress.reported = Some((timeline, now));
        }
    }

    /// Whether the attempts need not be sent for this start of a leader; true without a leader. Does not block.
    pub(crate) fn is_compared(&self, leader_start: &str) -> bool {
        leader_start.is_empty() || self.progress().compared.as_deref() == Some(leader_start)
    }

    /// The last attempt at each task, in parts.
    pub(crate) fn attempts(&self) -> Vec<Vec<JournalEntry>> {
        let state = self.lock();
        let mut entries: Vec<_> = state.entries.values().cloned().collect();
        drop(state);
        entries.sort_unstable_by_key(|(number, _entry)| *number);
        let entries: Vec<JournalEntry> = entries.into_iter().map(|(_, entry)| entry).collect();
        let parts = entries.chunks(COMPARED_AT_ONCE);
        parts.map(<[JournalEntry]>::to_vec).collect()
    }

    /// All attempts have arrived for this start of a leader. Does not block.
    pub(crate) fn compared(&self, leader_start: String) {
        self.progress().compared = Some(leader_start);
    }

    fn compact(&self, state: &mut State) {
        if state.lines <= 2 * state.entries.len() + LINES_BEYOND {
            return;
        }
        if let Err(error) = self.write_anew(state) {
            self.fail(state, &error);
        }
    }

    /// Writes a new file with only the lines that count, and replaces the old file.
    fn write_anew(&self, state: &mut State) -> io::Result<()> {
        let lines = state.all_lines();
        let text: String = lines.iter().map(Line::to_string).collect();
        let (path, new_path) = (self.directory.join(FILE), self.directory.join(NEW_FILE));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new_path)?;
        file.write_all(text.as_bytes())?;
        if self.syncs {
            file.sync_all()?;
        }
        fs::rename(&new_path, &path)?;
        self.sync_directory()?;
        state.file = Some(file);
        state.lines = lines.len();
        Ok(())
    }

    /// From now on this life vouches for nothing, and the next life does not vouch for this life.
    fn fail(&self, state: &mut State, error: &io::Error) {
        state.file = None;
        tracing::warn!(error = %Chain(error), "the journal cannot be written; after a failover of the database every task runs once");
        if let Err(error) = self.remove() {
            tracing::warn!(error = %Chain(&error), "the journal cannot be removed");
        }
        // The scheduler must learn that this life does not vouch.
        self.progress().reported = None;
    }

    fn remove(&self) -> io::Result<()> {
        match fs::remove_file(self.directory.join(FILE)) {
            Ok(()) => self.sync_directory(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn sync_directory(&self) -> io::Result<()> {
        if !self.syncs {
            return Ok(());
        }
        File::open(&self.directory)?.sync_all()
    }

    fn progress(&self) -> MutexGuard<'_, JournalProgress> {
        self.progress.lock()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests;
