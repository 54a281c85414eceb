//! The worker's end of the pipe to its guard.

use std::io::{self, PipeReader, PipeWriter, Write as _};

use nix::fcntl::{FcntlArg, OFlag, fcntl};

/// A pipe into which lines are written without ever waiting.
#[derive(Debug)]
pub(crate) struct LinePipe {
    writer: PipeWriter,
    /// The rest of a line that had no room.
    rest: Vec<u8>,
}

/// The outcome of writing a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// The whole line is in the pipe.
    Whole,
    /// The pipe is full; nothing else may be written before the rest of the line.
    Full,
    /// The pipe has no reader any more.
    Broken,
}

impl LinePipe {
    /// A new pipe, and the end for the guard.
    pub(crate) fn new() -> io::Result<(Self, PipeReader)> {
        let (reader, writer) = io::pipe()?;
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        let rest = Vec::new();
        Ok((Self { writer, rest }, reader))
    }

    /// Writes the rest of the previous line.
    pub(crate) fn flush(&mut self) -> WriteOutcome {
        while !self.rest.is_empty() {
            match self.writer.write(&self.rest) {
                Ok(count) => drop(self.rest.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return WriteOutcome::Full;
                }
                Err(_broken) => return WriteOutcome::Broken,
            }
        }
        WriteOutcome::Whole
    }

    /// Writes a line and its end, after the rest of the previous line: with [`WriteOutcome::Full`] the rest of the line
    /// follows when this pipe is flushed.
    pub(crate) fn write(&mut self, line: &str) -> WriteOutcome {
        self.rest.extend_from_slice(line.as_bytes());
        self.rest.push(b'\n');
        self.flush()
    }
}
