//! A terminal that progress and log share.

use std::io::{self, IsTerminal as _, Write};

use indicatif::{MultiProgress, ProgressDrawTarget};

/// The moving lines at the lower end of a terminal. Clones move the same lines.
#[derive(Debug, Clone)]
pub(crate) struct ProgressLines(MultiProgress);

impl ProgressLines {
    /// The lines of standard error, if it is a terminal on which lines can move; a dumb terminal would show no lines.
    pub(crate) fn of_standard_error() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let lines = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        (!lines.is_hidden()).then_some(Self(lines))
    }

    /// Standard error for writers of whole lines between the moving lines, such as the log.
    pub(crate) fn writer(&self) -> impl Write + Send + 'static {
        Between(self.clone())
    }

    pub(super) fn lines(&self) -> &MultiProgress {
        &self.0
    }
}

struct Between(ProgressLines);

impl Write for Between {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.0.suspend(|| io::stderr().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
