//! The messages of a guard as lines of the log.

use std::io::{self, Write};

/// Takes the messages of a guard, a line each, and logs them with its worker as a field.
#[derive(Debug)]
pub(crate) struct GuardLines {
    worker: String,
    /// The beginning of a line that is not complete.
    partial: Vec<u8>,
}

impl GuardLines {
    pub(crate) fn new(worker: &str) -> Self {
        Self {
            worker: worker.to_owned(),
            partial: Vec::new(),
        }
    }
}

impl Write for GuardLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.partial.extend_from_slice(bytes);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let (worker, message) = (&self.worker, line.trim_end());
            tracing::warn!(target: "guard", { worker.id = worker }, "{message}");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
