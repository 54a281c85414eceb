//! Output without secrets.

use parking_lot::Mutex;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use cts_terraform::{OutputLine, OutputSink, OutputStream, Step};

use super::{Redactor, without};

/// Fewest bytes of an unfinished line that are kept back: a text with the shape of a secret is hardly longer.
const KEPT_BACK: usize = 4096;

/// Passes on lines without their secrets. The end of a piece waits for the next piece of its line, because a secret may
/// span both pieces.
pub(crate) struct RedactingSink {
    redactor: Arc<Redactor>,
    sink: Arc<dyn OutputSink>,
    /// The ends of unfinished lines of standard output and standard error.
    kept_back: Mutex<[String; 2]>,
}

impl fmt::Debug for RedactingSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedactingSink").finish_non_exhaustive()
    }
}

impl RedactingSink {
    pub(crate) fn new(redactor: Arc<Redactor>, sink: Arc<dyn OutputSink>) -> Self {
        Self {
            redactor,
            sink,
            kept_back: Mutex::default(),
        }
    }

    /// Splits an unfinished line: the part that can be passed on, without secrets, and the part that is kept
    /// back.
    fn split(&self, line: &str) -> (String, String) {
        let kept = self.redactor.longest.max(KEPT_BACK);
        let mut cut = line.floor_char_boundary(line.len().saturating_sub(kept));
        let mut secrets = self.redactor.secrets(line);
        // A secret that ends in the kept part could become longer with the rest.
        if let Some(across) = secrets
            .iter()
            .find(|place| place.start < cut && place.end > cut)
        {
            let may_go_on = across.end == line.len() && line.len() - across.start <= 2 * kept;
            cut = if may_go_on { across.start } else { across.end };
        }
        secrets.retain(|place| place.end <= cut);
        let (begin, end) = line.split_at(cut);
        (without(begin, &secrets), end.to_owned())
    }
}

impl OutputSink for RedactingSink {
    fn line(&self, line: OutputLine) {
        let mut kept_back = self.kept_back.lock();
        let [stdout, stderr] = &mut *kept_back;
        let kept = match line.stream {
            OutputStream::Stdout => stdout,
            OutputStream::Stderr => stderr,
        };
        let mut text = mem::take(kept);
        text.push_str(&line.text);
        if line.continues {
            (text, *kept) = self.split(&text);
        } else {
            let redacted = self.redactor.redact(&text);
            text = redacted.into_owned();
        }
        drop(kept_back);
        if text.is_empty() && line.continues {
            return;
        }
        self.sink.line(OutputLine { text, ..line });
    }

    /// Events stay as they are: only a report reads them, whose texts are redacted without the escapes of
    /// JSON.
    fn event(&self, line: &str) {
        self.sink.event(line);
    }

    fn step_began(&self, step: Step) {
        self.sink.step_began(step);
    }

    fn step_ended(&self, step: Step, took: Duration) {
        self.sink.step_ended(step, took);
    }
}

#[cfg(test)]
impl RedactingSink {
    /// Bytes that are kept back so far.
    pub(super) fn kept_bytes(&self) -> usize {
        let kept_back = self.kept_back.lock();
        kept_back.iter().map(String::len).sum()
    }
}
