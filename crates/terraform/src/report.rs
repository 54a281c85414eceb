//! Resources, mistakes and times, read from Terraform's plain output.
//!
//! The output is read on its way to the log, which stays as Terraform writes it: `-json` would replace that output,
//! without the changed attributes. Every recognised form stands at the begin of a line, where Terraform puts neither
//! values nor the output of provisioners. Any other line counts as plain text.
//!
//! OpenTofu from 1.12 writes events in addition to that output. They count instead of the plain lines of
//! their command.

mod address;
mod changes;
mod diagnostics;
mod event;
mod found;
mod line;

use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use cts_core::runs::RunKind;
use cts_proto::run::v1::{PhaseTimes, RunDetails};
use cts_proto::time::{duration_from_wire, duration_to_wire};

use self::changes::Changes;
use self::diagnostics::Diagnostics;
use self::event::Events;
use self::found::Found;
use self::line::{Line, read};
use crate::commands::outputs::ReportedOutputs;
use crate::output::{OutputLine, OutputSink, OutputStream};
use crate::step::Step;

/// Most bytes of a line that are read: longer than any address.
const LONGEST_READ: usize = 8 * 1024;

/// Reads the output of one attempt's commands and passes it to another sink.
pub struct Report {
    sink: Arc<dyn OutputSink>,
    /// Boxed, because the report of a run that has no output yet is to be small.
    seen: Mutex<Option<Box<Seen>>>,
}

#[derive(Default)]
struct Seen {
    stdout: Stream,
    stderr: Stream,
    /// Events of the command that runs, or has just ended.
    events: Option<Events>,
    planned: Changes,
    done: Changes,
    /// Outputs of the root module, after an apply.
    outputs: Option<ReportedOutputs>,
    /// Diagnostics of the commands before the last one.
    earlier: Found,
    /// Diagnostics of the last command.
    last: Found,
    /// Whether a lock has been released since the last command that needed it.
    unlocked: bool,
    phases: PhaseTimes,
}

/// Reading state of standard output or standard error.
#[derive(Default)]
struct Stream {
    /// The beginning of a line that comes in pieces.
    partial: String,
    diagnostics: Diagnostics,
}

impl Report {
    /// Passes everything on to `sink`.
    pub fn new(sink: Arc<dyn OutputSink>) -> Self {
        Self {
            sink,
            seen: Mutex::default(),
        }
    }

    /// Reads diagnostics from an error that is not part of the output, such as the error of `validate`.
    pub fn read_errors(&self, text: &str) {
        let mut diagnostics = Diagnostics::default();
        for line in text.lines() {
            diagnostics.line(beginning(line));
        }
        self.seen
            .lock()
            .get_or_insert_default()
            .last
            .errors
            .take_in(diagnostics);
    }

    /// The details so far, of an attempt at a run of this kind. The result as a whole is not bounded, but its
    /// parts are.
    pub fn details(&self, kind: RunKind) -> RunDetails {
        let mut seen = self.seen.lock().take().unwrap_or_default();
        // Diagnostics of a command that has not ended.
        let running = seen.found();
        let Seen {
            planned,
            done,
            earlier,
            last,
            phases,
            ..
        } = *seen;
        let (begun, changes) = match kind {
            RunKind::Apply | RunKind::Destroy => (phases.apply.is_some(), done),
            RunKind::Plan | RunKind::DestroyPlan => (phases.plan.is_some(), planned),
            RunKind::Check => (false, Changes::default()),
        };
        let mut found = earlier;
        found.take_in(last);
        found.take_in(running);
        let mut diagnostics = found.errors;
        diagnostics.take_in(found.warnings);
        let (diagnostics, more_diagnostics) = diagnostics.finish();
        let (resources, changes, more_changes) = changes.finish();
        RunDetails {
            resources: begun.then_some(resources),
            phases: Some(phases),
            changes,
            more_changes,
            diagnostics,
            more_diagnostics,
            ..RunDetails::default()
        }
    }

    /// The outputs of the root module, if the events of an apply have reported them.
    pub fn outputs(&self) -> Option<ReportedOutputs> {
        self.seen.lock().as_mut()?.outputs.take()
    }
}

impl OutputSink for Report {
    fn line(&self, line: OutputLine) {
        self.seen.lock().get_or_insert_default().take(&line);
        self.sink.line(line);
    }

    fn event(&self, line: &str) {
        let mut seen = self.seen.lock();
        let seen = seen.get_or_insert_default();
        seen.events.get_or_insert_default().take(line);
    }

    fn step_began(&self, step: Step) {
        self.sink.step_began(step);
    }

    fn step_ended(&self, step: Step, took: Duration) {
        self.seen
            .lock()
            .get_or_insert_default()
            .step_ended(step, took);
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
        // Standard error has only diagnostics, and their details may contain any text.
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
                self.planned.say(counts);
            }
            Line::ApplySummary(counts) => {
                stream.diagnostics.end();
                self.done.say(counts);
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
            Step::Show
            | Step::Unlock
            | Step::Schemas
            | Step::Output
            | Step::Workspaces
            | Step::PullState
            | Step::PushState => None,
        };
        if let Some(phase) = phase {
            *phase = Some(duration_to_wire(duration_from_wire(phase.as_ref()) + took));
        }
        let events = self.events.take().filter(Events::are_whole);
        let plain = self.found();
        let found = match events {
            None => plain,
            Some(events) => {
                if step == Step::Apply {
                    self.outputs = events.outputs;
                    self.done = events.done.with_imports_of(mem::take(&mut self.done));
                } else {
                    self.planned = events.planned;
                }
                events.found
            }
        };
        if step == Step::Unlock {
            self.unlocked = true;
            self.last.take_in(found);
        } else if mem::take(&mut self.unlocked) {
            // The command ran again: the lock is not an error any more.
            self.last = found;
        } else {
            let before = mem::replace(&mut self.last, found);
            self.earlier.take_in(before);
        }
    }

    /// The diagnostics of the streams so far.
    fn found(&mut self) -> Found {
        let [errors, warnings] = [&mut self.stderr, &mut self.stdout].map(|stream| {
            stream.partial.clear();
            stream.diagnostics.end();
            mem::take(&mut stream.diagnostics)
        });
        Found { errors, warnings }
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_READ.min(text.len()))]
}

#[cfg(test)]
mod tests;
