//! The pipe from an engine to the reader of its plan.

use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Reads a pipe whose writers may stay after the engine has ended. Blocks.
pub(crate) struct PlanPipe {
    pipe: Receiver,
    runtime: Handle,
    deadline: Instant,
    ended: CancellationToken,
}

impl PlanPipe {
    /// Reads until `deadline`. Once `ended` is cancelled, an empty pipe is at its end.
    pub(crate) fn new(
        reader: PipeReader,
        deadline: Instant,
        ended: CancellationToken,
    ) -> io::Result<Self> {
        Ok(Self {
            pipe: Receiver::from_owned_fd(OwnedFd::from(reader))?,
            runtime: Handle::current(),
            deadline,
            ended,
        })
    }
}

impl Read for PlanPipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.pipe.try_read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
            let readable = timeout_at(self.deadline, self.pipe.readable());
            let ended = self.ended.run_until_cancelled(readable);
            match self.runtime.block_on(ended) {
                Some(readable) => readable??,
                None => return Ok(0),
            }
        }
    }
}
