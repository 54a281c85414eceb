//! What Terraform's plain output says of resources, mistakes and times.
//!
//! It is read beside its way to the log, which stays as Terraform writes it: `-json` would be instead of it, without the
//! attributes that change. Every form that is looked for stands at the begin of a line, where Terraform puts neither
//! values nor the output of provisioners. What has another form is text and no more.

mod address;
mod diagnostics;
mod line;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cts_core::runs::{
    CHANGES_KEPT, PhaseTimes, ResourceAction, ResourceChange, ResourceCounts, RunDetails,
    RunFindings, RunKind, RunSummary,
};

use self::diagnostics::Diagnostics;
use self::line::{Line, read};
use crate::command::Step;
use crate::output::{OutputLine, OutputSink, OutputStream};

/// So much of a line is read, in bytes: more than any address has.
const LONGEST_READ: usize = 8 * 1024;

/// Changes that are told apart, at most; later ones are counted as if each were of another resource.
const TOLD_APART: usize = 100_000;

/// Reads the output of one attempt's commands on its way to another sink.
pub struct Report {
    sink: Arc<dyn OutputSink>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    stdout: Stream,
    stderr: Stream,
    planned: Changes,
    done: Changes,
    phases: PhaseTimes,
}

/// One of the streams.
#[derive(Default)]
struct Stream {
    /// The begin of a line that comes in pieces.
    partial: String,
    diagnostics: Diagnostics,
}

/// Changes of one kind: those that a plan shows, or those that were made.
#[derive(Default)]
struct Changes {
    kept: Vec<ResourceChange>,
    /// Hashes of further addresses.
    more: HashSet<u64>,
    uncounted: u32,
    /// What was seen, one by one.
    counted: ResourceCounts,
    /// What Terraform says at the end.
    said: Option<ResourceCounts>,
}

impl Report {
    /// Passes everything on to `sink`.
    pub fn new(sink: Arc<dyn OutputSink>) -> Self {
        Self {
            sink,
            seen: Mutex::default(),
        }
    }

    /// Reads diagnostics that stand in an error and not in the output: those of `validate`.
    pub fn read_errors(&self, text: &str) {
        let mut diagnostics = Diagnostics::default();
        for line in text.lines() {
            diagnostics.line(beginning(line));
        }
        self.lock().stderr.diagnostics.take_in(diagnostics);
    }

    /// The numbers of the plan that was seen, if there was one.
    pub fn planned(&self) -> Option<ResourceCounts> {
        let seen = self.lock();
        let planned = seen.planned.said.unwrap_or(seen.planned.counted);
        seen.phases.plan.is_some().then_some(planned)
    }

    /// What was seen until now, of an attempt at a run of this kind. It is not bounded, but its parts are.
    pub fn details(&self, kind: RunKind) -> RunDetails {
        let mut seen = self.lock();
        let Seen {
            stdout,
            stderr,
            planned,
            done,
            phases,
        } = mem::take(&mut *seen);
        drop(seen);
        let (begun, changes) = match kind {
            RunKind::Apply => (phases.apply.is_some(), done),
            RunKind::Plan => (phases.plan.is_some(), planned),
            RunKind::Check => (false, Changes::default()),
        };
        let mut diagnostics = stderr.diagnostics;
        diagnostics.take_in(stdout.diagnostics);
        let (diagnostics, more_diagnostics) = diagnostics.finish();
        let resources = begun.then(|| changes.said.unwrap_or(changes.counted));
        let more = u32::try_from(changes.more.len()).unwrap_or(u32::MAX);
        RunDetails {
            summary: RunSummary { resources, phases },
            findings: RunFindings {
                changes: changes.kept,
                more_changes: more.saturating_add(changes.uncounted),
                diagnostics,
                more_diagnostics,
            },
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OutputSink for Report {
    fn line(&self, line: OutputLine) {
        self.lock().take(&line);
        self.sink.line(line);
    }

    fn step_ended(&self, step: Step, took: Duration) {
        self.lock().step_ended(step, took);
        self.sink.step_ended(step, took);
    }
}

impl std::fmt::Debug for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Report").finish_non_exhaustive()
    }
}

impl Seen {
    fn take(&mut self, line: &OutputLine) {
        let stream = match line.stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let whole;
        let text = if line.continues || !stream.partial.is_empty() {
            let room = LONGEST_READ.saturating_sub(stream.partial.len());
            let end = line.text.floor_char_boundary(room.min(line.text.len()));
            stream.partial.push_str(&line.text[..end]);
            if line.continues {
                return;
            }
            whole = mem::take(&mut stream.partial);
            whole.as_str()
        } else {
            beginning(&line.text)
        };
        // On standard error there is nothing else, and a detail may say anything.
        let read = match line.stream {
            OutputStream::Stdout => read(text),
            OutputStream::Stderr => Line::Text,
        };
        match read {
            Line::Text => stream.diagnostics.line(text),
            Line::Progress => stream.diagnostics.end(),
            Line::Planned { address, action } => {
                stream.diagnostics.end();
                self.planned.add(address, action);
            }
            Line::Done { address, action } => {
                stream.diagnostics.end();
                self.done.add(address, action);
            }
            Line::PlanSummary(counts) => {
                stream.diagnostics.end();
                self.planned.said = Some(counts);
            }
            Line::ApplySummary(counts) => {
                stream.diagnostics.end();
                self.done.said = Some(counts);
            }
        }
    }

    fn step_ended(&mut self, step: Step, took: Duration) {
        let phases = &mut self.phases;
        let phase = match step {
            Step::Init => Some(&mut phases.init),
            Step::Validate => Some(&mut phases.validate),
            Step::Plan => Some(&mut phases.plan),
            Step::Apply => Some(&mut phases.apply),
            Step::Unlock => None,
        };
        if let Some(phase) = phase {
            *phase = Some(phase.unwrap_or_default() + took);
        }
        for stream in [&mut self.stdout, &mut self.stderr] {
            stream.partial.clear();
            stream.diagnostics.end();
        }
    }
}

impl Changes {
    /// Something happens to a resource. One that is destroyed and made is replaced.
    fn add(&mut self, address: &str, action: ResourceAction) {
        self.counted.count(action);
        if let Some(known) = self.kept.iter_mut().find(|it| it.address == address) {
            known.action = both(known.action, action);
        } else if self.kept.len() < CHANGES_KEPT {
            self.kept.push(ResourceChange {
                address: address.to_owned(),
                action,
            });
        } else if self.more.len() < TOLD_APART {
            let mut hasher = DefaultHasher::new();
            address.hash(&mut hasher);
            self.more.insert(hasher.finish());
        } else {
            self.uncounted = self.uncounted.saturating_add(1);
        }
    }
}

/// What two actions at one resource are together.
const fn both(first: ResourceAction, second: ResourceAction) -> ResourceAction {
    use ResourceAction::{Create, Delete, Import, Replace};
    match (first, second) {
        (Create, Delete) | (Delete, Create) | (Replace, _) => Replace,
        (Import, other) => other,
        (first, _) => first,
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_READ.min(text.len()))]
}

#[cfg(test)]
mod tests;
