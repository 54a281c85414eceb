//! Messages and questions of a task command (docs/cli.md#cts-task).
//!
//! Streams and signals are passed in, so that a conversation can be tested without a terminal. A reader that
//! has gone does not fail the command: output that cannot be written is dropped.

mod input;
mod text;

use std::io::Write;

use tokio_util::sync::CancellationToken;

pub(super) use self::input::{AskError, Input};
pub use self::text::on_one_line;
pub(super) use self::text::printable;

/// Columns that the details of an error are wrapped at.
const DETAIL_WIDTH: usize = 78;

/// Begins information and errors.
const ARROW: &str = "==> ";

/// Begins output.
const INDENT: &str = "    ";

/// One conversation with the user of the command.
pub(super) struct Ui<'a> {
    stdout: &'a mut (dyn Write + Send),
    stderr: &'a mut (dyn Write + Send),
    input: Option<Input>,
    interrupt: CancellationToken,
}

impl<'a> Ui<'a> {
    pub(super) fn new(
        stdout: &'a mut (dyn Write + Send),
        stderr: &'a mut (dyn Write + Send),
        input: Input,
        interrupt: CancellationToken,
    ) -> Self {
        Self {
            stdout,
            stderr,
            input: Some(input),
            interrupt,
        }
    }

    /// An action or its progress.
    pub(super) fn info(&mut self, text: &str) {
        say(self.stdout, ARROW, text);
    }

    /// More about it. The prefix stands before the first line only; an empty text is an empty line.
    pub(super) fn output(&mut self, text: &str) {
        say(self.stdout, INDENT, text);
    }

    /// An error: the action that failed.
    pub(super) fn error(&mut self, text: &str) {
        say(self.stderr, ARROW, text);
    }

    /// Why not, where the commands of the original say it: on standard output.
    pub(super) fn detail(&mut self, text: &str) {
        self.output(&text::wrap(text, DETAIL_WIDTH));
    }

    /// More about an error of a cts-only command, whose standard output belongs to its result.
    pub(super) fn note(&mut self, text: &str) {
        say(self.stderr, INDENT, &text::wrap(text, DETAIL_WIDTH));
    }

    /// More about it that has a layout of its own, without a prefix.
    pub(super) fn block(&mut self, text: &str) {
        say(self.stdout, "", text);
    }

    /// Additional information.
    pub(super) fn warning(&mut self, text: &str) {
        say(self.stderr, "", text);
    }

    /// The result of a cts-only command, as it is: the caller has made it printable.
    pub(super) fn result(&mut self, text: &str) {
        drop(self.stdout.write_all(text.as_bytes()));
        drop(self.stdout.flush());
    }

    /// Asks and gives the first line of the answer, without its end.
    pub(super) async fn ask(&mut self, question: &str) -> Result<String, AskError> {
        drop(write!(self.stdout, "{question} "));
        drop(self.stdout.flush());
        let input = self.input.take().ok_or(AskError::EndOfInput)?;
        let answer = tokio::select! {
            answer = input.line() => answer,
            () = self.interrupt.cancelled() => Err(AskError::Interrupted),
        };
        if answer.is_err() {
            // The next output begins a line of its own.
            drop(writeln!(self.stdout));
        }
        answer
    }
}

fn say(stream: &mut dyn Write, prefix: &str, text: &str) {
    let text = printable(text.trim_end_matches('\n'));
    let prefix = if text.is_empty() { "" } else { prefix };
    drop(writeln!(stream, "{prefix}{text}"));
    drop(stream.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn kinds_of_messages_have_their_stream_and_prefix() {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let input = Input::new(&b""[..]);
        let mut ui = Ui::new(&mut stdout, &mut stderr, input, CancellationToken::new());
        ui.info("info");
        ui.output("one\ntwo\n");
        ui.output("");
        ui.error("error");
        ui.warning("warning");
        ui.note("note");
        ui.detail(&"word ".repeat(20));
        let words = |count| vec!["word"; count].join(" ");
        assert_eq!(
            String::from_utf8(stdout).unwrap(),
            format!(
                "==> info\n    one\ntwo\n\n    {}\n{}\n",
                words(15),
                words(5)
            )
        );
        assert_eq!(
            String::from_utf8(stderr).unwrap(),
            "==> error\nwarning\n    note\n"
        );
    }

    async fn asked(
        input: Input,
        interrupt: CancellationToken,
    ) -> (Result<String, AskError>, String) {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut stdout, &mut stderr, input, interrupt);
        let answer = ui.ask("Enter a value:").await;
        (answer, String::from_utf8(stdout).unwrap())
    }

    #[tokio::test]
    async fn the_answer_is_the_first_line_without_its_end() {
        for (input, expected) in [
            ("yes\n", "yes"),
            ("yes\r\nno\n", "yes"),
            ("\n", ""),
            (" yes \n", " yes "),
        ] {
            let (answer, stdout) =
                asked(Input::new(input.as_bytes()), CancellationToken::new()).await;
            assert_eq!(answer.unwrap(), expected);
            assert_eq!(stdout, "Enter a value: ");
        }
    }

    #[tokio::test]
    async fn a_line_that_does_not_end_is_no_answer() {
        for input in ["", "yes"] {
            let (answer, _) = asked(Input::new(input.as_bytes()), CancellationToken::new()).await;
            assert!(matches!(answer, Err(AskError::EndOfInput)), "{answer:?}");
        }
    }

    #[tokio::test]
    async fn an_interrupt_ends_the_question() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let interrupt = CancellationToken::new();
        interrupt.cancel();
        let (answer, stdout) = asked(Input::new(reader), interrupt).await;
        assert!(matches!(answer, Err(AskError::Interrupted)), "{answer:?}");
        assert_eq!(stdout, "Enter a value: \n");
    }
}
