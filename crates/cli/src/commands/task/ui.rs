//! Messages and questions of a task command (docs/cli.md#cts-task).
//!
//! Streams and signals are passed in, so that a conversation can be tested without a terminal. A reader that
//! has gone does not fail the command: output that cannot be written is dropped.

mod input;
mod stream;
mod text;

use tokio_util::sync::CancellationToken;

pub(super) use self::input::{AskError, Input};
pub(super) use self::stream::Stream;

/// Begins information and errors.
const ARROW: &str = "==> ";

/// Begins output.
const INDENT: &str = "    ";

/// One conversation with the user of the command.
pub(super) struct Ui<'a> {
    stdout: Stream<'a>,
    stderr: Stream<'a>,
    input: Option<Input>,
    interrupt: CancellationToken,
}

impl<'a> Ui<'a> {
    pub(super) fn new(
        stdout: Stream<'a>,
        stderr: Stream<'a>,
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
        self.stdout.say(ARROW, text);
    }

    /// More about it. The prefix stands before the first line only; an empty text is an empty line.
    pub(super) fn output(&mut self, text: &str) {
        self.stdout.say(INDENT, text);
    }

    /// An error: the action that failed.
    pub(super) fn error(&mut self, text: &str) {
        self.stderr.say(ARROW, text);
    }

    /// Why not, where the commands of the original say it: on standard output.
    pub(super) fn detail(&mut self, text: &str) {
        self.stdout.explain(INDENT, text);
    }

    /// More about an error of a cts-only command, whose standard output belongs to its result.
    pub(super) fn note(&mut self, text: &str) {
        self.stderr.explain(INDENT, text);
    }

    /// Further text with its own layout, without a prefix.
    pub(super) fn block(&mut self, text: &str) {
        self.stdout.say("", text);
    }

    /// Additional information.
    pub(super) fn warning(&mut self, text: &str) {
        self.stderr.say("", text);
    }

    /// The result of a cts-only command, unchanged: the caller has made it printable.
    pub(super) fn result(&mut self, text: &str) {
        self.stdout.write(text);
    }

    /// Asks `question` and returns the first line of the answer, without its end.
    pub(super) async fn ask(&mut self, question: &str) -> Result<String, AskError> {
        self.stdout.write(&format!("{question} "));
        let input = self.input.take().ok_or(AskError::EndOfInput)?;
        let answer = tokio::select! {
            answer = input.line() => answer,
            () = self.interrupt.cancelled() => Err(AskError::Interrupted),
        };
        if answer.is_err() {
            // The next output begins a line of its own.
            self.stdout.write("\n");
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_have_their_stream_and_prefix_and_only_a_terminal_wraps_details() {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let input = Input::new(&b""[..]);
        let mut ui = Ui::new(
            Stream::to_file(&mut stdout),
            Stream::to_terminal(&mut stderr),
            input,
            CancellationToken::new(),
        );
        ui.info("info");
        ui.output("one\ntwo\n");
        ui.output("");
        ui.error("error");
        ui.warning("warning");
        ui.note(&"word ".repeat(20));
        ui.detail(&"word ".repeat(20));
        let words = |count| vec!["word"; count].join(" ");
        assert_eq!(
            String::from_utf8(stdout).unwrap(),
            format!("==> info\n    one\ntwo\n\n    {} \n", words(20))
        );
        assert_eq!(
            String::from_utf8(stderr).unwrap(),
            format!("==> error\nwarning\n    {}\n{}\n", words(15), words(5))
        );
    }

    async fn asked(
        input: Input,
        interrupt: CancellationToken,
    ) -> (Result<String, AskError>, String) {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let streams = [&mut stdout, &mut stderr].map(Stream::to_file);
        let [stdout_stream, stderr_stream] = streams;
        let mut ui = Ui::new(stdout_stream, stderr_stream, input, interrupt);
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
