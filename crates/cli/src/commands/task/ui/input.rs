//! Source of answers.

use std::io::{self, BufRead, BufReader, Read};

use tokio::sync::oneshot;

/// Longer than any answer; what is longer is cut.
const LONGEST_LINE: u64 = 4096;

/// Why a question was not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// The input ended before the line did.
    #[error("EOF")]
    EndOfInput,
    /// The user has pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The input cannot be read.
    #[error("{0}")]
    Unreadable(#[source] io::Error),
}

/// The input that is read once, after a question.
pub(crate) struct Input(Box<dyn Read + Send>);

impl Input {
    pub(crate) fn new(source: impl Read + Send + 'static) -> Self {
        Self(Box::new(source))
    }

    /// The first line without its end. Dropping the future leaves a thread that still waits for the line. The thread
    /// ends with the process; therefore it is not a thread of the runtime.
    pub(super) async fn line(self) -> Result<String, AskError> {
        let (sender, line) = oneshot::channel();
        let reading = move || drop(sender.send(first_line(self.0)));
        std::thread::Builder::new()
            .name("answer".to_owned())
            .spawn(reading)
            .map_err(AskError::Unreadable)?;
        line.await.unwrap_or(Err(AskError::EndOfInput))
    }
}

fn first_line(source: impl Read) -> Result<String, AskError> {
    let mut line = Vec::new();
    BufReader::new(source)
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .map_err(AskError::Unreadable)?;
    let Some(line) = line.strip_suffix(b"\n") else {
        let cut = line.len() as u64 == LONGEST_LINE;
        // The line is not "yes", whatever follows.
        return if cut {
            Ok(String::new())
        } else {
            Err(AskError::EndOfInput)
        };
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(String::from_utf8_lossy(line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_does_not_fill_memory() {
        let line = first_line(io::repeat(b'y')).unwrap();
        assert_eq!(line, "");
    }
}
