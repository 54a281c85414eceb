//! The log of one attempt on its way to the scheduler.

use parking_lot::Mutex;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use cts_core::Chain;
use cts_rpc::CHUNK_BYTES;
use cts_terraform::{OutputLine, OutputSink, OutputStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::calls::scheduler::Scheduler;
use crate::lease::Lease;
use crate::shared::Console;

/// How often lines are sent while Terraform runs.
const SEND_EVERY: Duration = Duration::from_millis(100);

/// Longest time for one batch; the end of a run is not delayed for lines.
const LONGEST_SEND: Duration = Duration::from_secs(5);

/// Most bytes of lines that could not be sent yet; further lines are dropped and counted. An unreachable
/// scheduler must not make the worker grow.
const BUFFER_BYTES: usize = 4 * CHUNK_BYTES;

/// Most lines and bytes of the log of an attempt: a module that prints without end must not fill the
/// database.
const LOG_LINES: usize = 200_000;
const LOG_BYTES: usize = 64 * 1024 * 1024;

/// Takes lines from Terraform and keeps them until they are sent. Never waits.
#[derive(Debug)]
pub(crate) struct RunLog {
    buffer: Mutex<Buffer>,
    console: Console,
}

#[derive(Debug, Default)]
struct Buffer {
    lines: Vec<OutputLine>,
    bytes: usize,
    dropped: u64,
    /// Lines and bytes of the whole log so far.
    log_lines: usize,
    log_bytes: usize,
}

impl RunLog {
    pub(crate) fn new(console: Console) -> Arc<Self> {
        Arc::new(Self {
            buffer: Mutex::default(),
            console,
        })
    }

    /// The lines that are not sent yet.
    pub(crate) fn take(&self) -> Vec<OutputLine> {
        let mut buffer = self.buffer.lock();
        let mut lines = mem::take(&mut buffer.lines);
        let dropped = mem::take(&mut buffer.dropped);
        buffer.bytes = 0;
        drop(buffer);
        if dropped > 0 {
            let text = format!(
                "({dropped} lines were dropped: they came faster than they could be stored)"
            );
            lines.push(OutputLine::new(OutputStream::Stderr, text));
        }
        lines
    }

    /// Sends lines while Terraform runs, until `done` is cancelled; a batch that is under way is completed, so that no
    /// line is lost or doubled.
    pub(crate) async fn ship(
        &self,
        scheduler: &Scheduler,
        lease: &Lease,
        done: &CancellationToken,
    ) {
        let mut ticks = tokio::time::interval(SEND_EVERY);
        ticks.tick().await;
        loop {
            tokio::select! {
                () = done.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let lines = self.take();
            if lines.is_empty() {
                continue;
            }
            let sent = timeout(LONGEST_SEND, Box::pin(scheduler.append_log(lease, lines))).await;
            match sent {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(run.id = %lease.run, error = %Chain(&error), "log lines are lost");
                }
                Err(elapsed) => {
                    tracing::debug!(run.id = %lease.run, error = %elapsed, "log lines are lost");
                }
            }
        }
    }
}

impl Buffer {
    fn add(&mut self, line: &OutputLine) {
        if self.log_lines > LOG_LINES {
            return;
        }
        let bytes = line.text.len() + mem::size_of::<OutputLine>();
        let text = if self.log_lines == LOG_LINES || self.log_bytes + bytes > LOG_BYTES {
            self.log_lines = LOG_LINES + 1;
            format!(
                "(no more of this log is kept: it has {LOG_LINES} lines or {} MiB)",
                LOG_BYTES >> 20
            )
        } else if self.bytes + bytes > BUFFER_BYTES {
            self.dropped += 1;
            return;
        } else {
            self.log_lines += 1;
            line.text.clone()
        };
        self.bytes += bytes;
        self.log_bytes += bytes;
        self.lines.push(OutputLine::new(line.stream, text));
    }
}

impl OutputSink for RunLog {
    fn line(&self, line: OutputLine) {
        let mut buffer = self.buffer.lock();
        buffer.add(&line);
        drop(buffer);
        if let Console(Some(console)) = &self.console {
            console.line(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: String) -> OutputLine {
        OutputLine::new(OutputStream::Stdout, text)
    }

    /// Logs this many lines of this length and sends them as they come. Returns the number of sent lines, and the last
    /// line.
    fn sent(lines: usize, length: usize) -> (usize, String) {
        let log = RunLog::new(Console(None));
        let mut sent = Vec::new();
        for number in 0..lines {
            log.line(line("x".repeat(length)));
            if number % 8 == 0 {
                sent.extend(log.take().into_iter().map(|line| line.text));
            }
        }
        sent.extend(log.take().into_iter().map(|line| line.text));
        (sent.len(), sent.pop().unwrap_or_default())
    }

    #[test]
    fn a_log_of_too_many_lines_ends_with_a_line_that_says_so() {
        let whole = sent(LOG_LINES, 1);
        assert_eq!(whole, (LOG_LINES, "x".to_owned()));
        let (count, last) = sent(LOG_LINES + 100, 1);
        assert_eq!(count, LOG_LINES + 1);
        assert!(last.starts_with("(no more of this log is kept"), "{last}");
    }

    #[test]
    fn a_log_of_too_many_bytes_does_too() {
        let length = 64 * 1024;
        let (count, last) = sent(LOG_BYTES / length + 100, length);
        assert!(count <= LOG_BYTES / length + 1, "{count}");
        assert!(last.starts_with("(no more of this log is kept"), "{last}");
    }
}
