//! Output of a Terraform process: live lines for followers, the last part for errors.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::step::Step;

/// Longest piece of a line that is passed on at once, in bytes.
const LONGEST_LINE: usize = 64 * 1024;

/// Most bytes that are left out if a stream was cut in the middle of a line.
const LONGEST_HALF: usize = 8 * 1024;

/// Room for one read, in bytes.
const READ_SIZE: usize = 8 * 1024;

/// The stream of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One line of output without its line break. A line of more than 64 KiB comes in several pieces; bytes that are not
/// UTF-8 are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLine {
    /// The stream of the line.
    pub stream: OutputStream,
    pub text: String,
    /// Whether the next piece of this stream belongs to this line.
    pub continues: bool,
}

impl OutputLine {
    /// A whole line, or the last piece of one.
    pub const fn new(stream: OutputStream, text: String) -> Self {
        Self {
            stream,
            text,
            continues: false,
        }
    }
}

/// Takes lines while Terraform runs. Must not block: Terraform waits while a sink does.
pub trait OutputSink: Send + Sync + 'static {
    /// Takes one line.
    fn line(&self, line: OutputLine);

    /// Takes one event that `OpenTofu` writes in addition to its output: a line of JSON, when its command has ended.
    /// The line may hold secrets, hidden by the escapes of JSON.
    fn event(&self, _line: &str) {}

    /// A command begins.
    fn step_began(&self, _step: Step) {}

    /// A command has ended, `took` after its start. Called after its last line and event.
    fn step_ended(&self, _step: Step, _took: Duration) {}
}

/// A sink that drops everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Discard;

impl OutputSink for Discard {
    fn line(&self, _line: OutputLine) {}
}

/// A sink that feeds a bounded channel. A slow receiver never blocks Terraform: lines without room are left
/// out, and a line with their number follows as soon as the channel has room.
#[derive(Debug)]
pub struct LineChannel {
    sender: mpsc::Sender<OutputLine>,
    left_out: AtomicU64,
}

impl LineChannel {
    /// A sink and its receiver, with room for `capacity` lines, at least one.
    pub fn new(capacity: usize) -> (Self, mpsc::Receiver<OutputLine>) {
        let (sender, receiver) = mpsc::channel(capacity.max(1));
        let left_out = AtomicU64::new(0);
        (Self { sender, left_out }, receiver)
    }

    /// Reports how many lines were left out, if any were. Returns whether the channel is usable again.
    fn report_left_out(&self) -> bool {
        if self.left_out.load(Ordering::Relaxed) == 0 {
            return true;
        }
        let Ok(permit) = self.sender.try_reserve() else {
            return false;
        };
        let count = self.left_out.swap(0, Ordering::Relaxed);
        let text = format!("{count} lines of output left out");
        permit.send(OutputLine::new(OutputStream::Stderr, text));
        true
    }
}

impl OutputSink for LineChannel {
    fn line(&self, line: OutputLine) {
        let sent = if self.report_left_out() {
            self.sender.try_send(line)
        } else {
            Err(TrySendError::Full(line))
        };
        if let Err(TrySendError::Full(_line)) = sent {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for LineChannel {
    fn drop(&mut self) {
        self.report_left_out();
    }
}

/// Reads one pipe to its end: lines are passed to a sink, the last bytes are kept.
///
/// Everything read so far is in the value, so [`Pump::run`] may be dropped at any time.
pub(crate) struct Pump<R> {
    reader: R,
    /// The sink of complete lines; without a sink lines are only kept.
    sink: Option<(OutputStream, Arc<dyn OutputSink>)>,
    partial: Vec<u8>,
    tail: Tail,
}

impl<R: AsyncRead + Unpin> Pump<R> {
    /// Reads `reader`, keeping the last `keep` bytes.
    pub(crate) const fn new(
        reader: R,
        sink: Option<(OutputStream, Arc<dyn OutputSink>)>,
        keep: usize,
    ) -> Self {
        Self {
            reader,
            sink,
            partial: Vec::new(),
            tail: Tail::new(keep),
        }
    }

    /// Reads until the pipe is closed.
    pub(crate) async fn run(&mut self) -> io::Result<()> {
        loop {
            self.partial.reserve(READ_SIZE);
            let before = self.partial.len();
            let count = self.reader.read_buf(&mut self.partial).await?;
            if count == 0 {
                return Ok(());
            }
            self.tail.extend(&self.partial[before..]);
            self.hand_on_lines();
        }
    }

    /// Passes on a last line without an end, and returns the kept text.
    pub(crate) fn finish(mut self) -> String {
        if let Some((stream, sink)) = &self.sink
            && !self.partial.is_empty()
        {
            sink.line(output_line(*stream, &self.partial));
        }
        self.partial.clear();
        self.tail.into_text()
    }

    fn hand_on_lines(&mut self) {
        let Some((stream, sink)) = &self.sink else {
            self.partial.clear();
            return;
        };
        let mut rest = self.partial.as_slice();
        loop {
            let window = &rest[..rest.len().min(LONGEST_LINE)];
            if let Some(end) = window.iter().position(|byte| *byte == b'\n') {
                sink.line(output_line(*stream, &rest[..end]));
                rest = &rest[end + 1..];
            } else if rest.len() > LONGEST_LINE {
                let end = character_boundary(rest, LONGEST_LINE);
                sink.line(OutputLine {
                    continues: true,
                    ..output_line(*stream, &rest[..end])
                });
                rest = &rest[end..];
            } else {
                break;
            }
        }
        let done = self.partial.len() - rest.len();
        self.partial.drain(..done);
    }
}

fn output_line(stream: OutputStream, bytes: &[u8]) -> OutputLine {
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    OutputLine::new(stream, String::from_utf8_lossy(bytes).into_owned())
}

/// The last place at or shortly before `end` where no character is cut.
fn character_boundary(bytes: &[u8], end: usize) -> usize {
    (end.saturating_sub(3)..=end)
        .rev()
        .find(|place| bytes.get(*place).is_none_or(|byte| byte & 0xc0 != 0x80))
        .unwrap_or(end)
}

/// The last bytes of a stream.
struct Tail {
    bytes: Vec<u8>,
    limit: usize,
    cut: bool,
}

impl Tail {
    const fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            cut: false,
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // Twice the limit, so that not every read moves the whole buffer.
        if self.bytes.len() > self.limit * 2 {
            self.trim();
        }
    }

    fn trim(&mut self) {
        if self.bytes.len() > self.limit {
            self.bytes.drain(..self.bytes.len() - self.limit);
            self.cut = true;
        }
    }

    fn into_text(mut self) -> String {
        self.trim();
        if self.cut {
            // Half a line could be half a secret, which would not be recognised.
            let window = &self.bytes[..self.bytes.len().min(LONGEST_HALF)];
            let end = window.iter().position(|byte| *byte == b'\n');
            self.bytes.drain(..end.map_or(window.len(), |end| end + 1));
        }
        let text = String::from_utf8_lossy(&self.bytes);
        if self.cut {
            format!("[the beginning is left out]\n{text}")
        } else {
            text.into_owned()
        }
    }
}

#[cfg(test)]
mod tests;
