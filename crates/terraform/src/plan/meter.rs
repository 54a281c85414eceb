//! Limits of the text of a plan.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use tokio::time::Instant;

/// A limit that a plan has exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Bytes,
    Time,
}

/// Counts the bytes of those parts of a plan that are not skipped.
#[derive(Debug, Clone)]
pub(super) struct Meter(Rc<State>);

#[derive(Debug)]
struct State {
    /// Bytes that may still be read of counted parts.
    left: Cell<u64>,
    counts: Cell<bool>,
    deadline: Instant,
    exceeded: Cell<Option<Limit>>,
}

impl Meter {
    pub(super) fn new(most: u64, deadline: Instant) -> Self {
        Self(Rc::new(State {
            left: Cell::new(most),
            counts: Cell::new(false),
            deadline,
            exceeded: Cell::new(None),
        }))
    }

    /// Whether the bytes from now on count.
    pub(super) fn count(&self, counts: bool) {
        self.0.counts.set(counts);
    }

    /// The limit that has ended the reading.
    pub(super) fn exceeded(&self) -> Option<Limit> {
        self.0.exceeded.get()
    }

    /// A reader that fails where a limit is exceeded.
    pub(super) fn read<R>(&self, reader: R) -> Metered<R> {
        let meter = self.clone();
        Metered { meter, reader }
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        let state = &self.0;
        let exceeded = if Instant::now() >= state.deadline {
            Some(Limit::Time)
        } else if state.counts.get() {
            let left = state.left.get().checked_sub(bytes);
            state.left.set(left.unwrap_or_default());
            left.is_none().then_some(Limit::Bytes)
        } else {
            None
        };
        state
            .exceeded
            .set(exceeded.or_else(|| state.exceeded.get()));
        match exceeded {
            Some(limit) => Err(io::Error::other(format!("{limit:?}"))),
            None => Ok(()),
        }
    }
}

/// A reader with limits.
pub(super) struct Metered<R> {
    meter: Meter,
    reader: R,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        // The limit is exceeded also if the reader itself has waited until then.
        self.meter.take(*read.as_ref().unwrap_or(&0) as u64)?;
        read
    }
}
