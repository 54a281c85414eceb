//! A third destination of lines, which begins after the log does: an exporter.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::log::line::Line;

/// Lines that wait for the destination; older ones are lost.
const WAITING: usize = 1000;

/// Parts of the program below an exporter. Exporting their lines would make further lines.
const BELOW: [&str; 5] = ["h2", "hyper", "hyper_util", "tonic", "tower"];

/// Takes lines. Must not block, and must not log.
pub type LineSink = Box<dyn Fn(&Line) + Send + Sync>;

/// Passes lines on to a destination that begins later. Cheap to clone; clones share the destination.
#[derive(Clone, Default)]
pub struct LogRelay(Arc<Mutex<Destination>>);

enum Destination {
    /// Unknown so far.
    Awaited(VecDeque<Line>),
    Known(Arc<LineSink>),
}

impl Default for Destination {
    fn default() -> Self {
        Self::Awaited(VecDeque::new())
    }
}

impl LogRelay {
    /// Sends the lines since the beginning of the log to `sink`, at most the newest 1,000, and all later ones.
    pub fn connect(&self, sink: LineSink) {
        let mut destination = self.0.lock();
        if let Destination::Awaited(waiting) = &mut *destination {
            for line in waiting.drain(..) {
                sink(&line);
            }
        }
        *destination = Destination::Known(Arc::new(sink));
    }

    pub(super) fn pass_on(&self, line: &Line) {
        if BELOW.contains(&line.module.as_str()) {
            return;
        }
        let sink = match &mut *self.0.lock() {
            Destination::Known(sink) => Arc::clone(sink),
            Destination::Awaited(waiting) => {
                if waiting.len() >= WAITING {
                    waiting.pop_front();
                }
                waiting.push_back(line.clone());
                return;
            }
        };
        sink(line);
    }
}

impl fmt::Debug for LogRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogRelay").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Local};
    use cts_core::LogLevel;

    use super::*;

    fn line(module: &str, message: &str) -> Line {
        Line {
            time: DateTime::UNIX_EPOCH.with_timezone(&Local),
            level: LogLevel::Info,
            module: module.to_owned(),
            message: message.to_owned(),
            fields: Vec::new(),
            trace: None,
        }
    }

    #[test]
    fn lines_from_before_the_destination_arrive_first() {
        let relay = LogRelay::default();
        let taken: Arc<Mutex<Vec<String>>> = Arc::default();
        relay.pass_on(&line("cli", "early"));
        let sink = Arc::clone(&taken);
        relay.connect(Box::new(move |line| sink.lock().push(line.message.clone())));
        relay.pass_on(&line("h2", "about the exporter"));
        relay.pass_on(&line("cli", "late"));
        assert_eq!(*taken.lock(), ["early", "late"]);
    }

    #[test]
    fn only_the_newest_lines_wait() {
        let relay = LogRelay::default();
        for number in 0..=WAITING {
            relay.pass_on(&line("cli", &number.to_string()));
        }
        let taken: Arc<Mutex<Vec<String>>> = Arc::default();
        let sink = Arc::clone(&taken);
        relay.connect(Box::new(move |line| sink.lock().push(line.message.clone())));
        let taken = taken.lock();
        assert_eq!(taken.len(), WAITING);
        assert_eq!(taken[0], "1");
    }
}
