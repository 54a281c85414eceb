//! The log of one attempt on its way to the scheduler.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cts_core::Chain;
use cts_proto::log::v1::{LogLine, LogStream};
use cts_proto::run::v1::Lease;
use cts_rpc::CHUNK_BYTES;
use cts_terraform::{OutputLine, OutputSink, OutputStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::scheduler_calls::Scheduler;
use crate::worker::Console;

/// How often lines are sent while Terraform runs.
const SEND_EVERY: Duration = Duration::from_millis(100);

/// Longest time for one batch; lines are not worth holding up the end of a run.
const LONGEST_SEND: Duration = Duration::from_secs(5);

/// Lines are dropped, and counted, beyond this many bytes that could not be sent: a scheduler that
/// cannot be reached must not make the worker grow.
const BUFFER_BYTES: usize = 4 * CHUNK_BYTES;

/// Takes lines from Terraform and keeps them until they are sent. Never waits.
#[derive(Debug)]
pub(crate) struct RunLog {
    buffer: Mutex<Buffer>,
    console: Console,
}

#[derive(Debug, Default)]
struct Buffer {
    lines: Vec<LogLine>,
    bytes: usize,
    dropped: u64,
}

impl RunLog {
    pub(crate) fn new(console: Console) -> Arc<Self> {
        Arc::new(Self {
            buffer: Mutex::default(),
            console,
        })
    }

    /// The lines that are not sent yet.
    pub(crate) fn take(&self) -> Vec<LogLine> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let Buffer {
            mut lines, dropped, ..
        } = mem::take(&mut *buffer);
        if dropped > 0 {
            lines.push(LogLine {
                stream: LogStream::Stderr.into(),
                text: format!(
                    "({dropped} lines were dropped: they came faster than they could be stored)"
                ),
            });
        }
        lines
    }

    /// Sends lines while Terraform runs, until `done` is cancelled; a batch that is on its way then is
    /// sent to its end, so that no line is lost or doubled.
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
            let sent = timeout(LONGEST_SEND, scheduler.append_log(lease, lines)).await;
            match sent {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(run.id = lease.run_id, error = %Chain(&error), "log lines are lost");
                }
                Err(elapsed) => {
                    tracing::debug!(run.id = lease.run_id, error = %elapsed, "log lines are lost");
                }
            }
        }
    }
}

impl OutputSink for RunLog {
    fn line(&self, line: OutputLine) {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.bytes + line.text.len() > BUFFER_BYTES {
            buffer.dropped += 1;
        } else {
            buffer.bytes += line.text.len() + mem::size_of::<LogLine>();
            let stream = match line.stream {
                OutputStream::Stdout => LogStream::Stdout,
                OutputStream::Stderr => LogStream::Stderr,
            };
            buffer.lines.push(LogLine {
                stream: stream.into(),
                text: line.text.clone(),
            });
        }
        drop(buffer);
        if let Console(Some(console)) = &self.console {
            console.line(line);
        }
    }
}
