//! Logs of a remote run, as output of the run (docs/hcp-terraform.md#logs).

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use cts_hcp_terraform::{ApiError, Server, SignedUrl};
use cts_terraform::{OutputLine, OutputSink, OutputStream, Step};
use serde::Deserialize;
use serde_json::Value;

/// Bytes of one request.
const PIECE: u32 = 256 << 10;

/// Most bytes of the end of a log that are kept for an error.
const TAIL: usize = 64 << 10;

/// Longest piece of a line that is passed on at once, in bytes.
const LONGEST_LINE: usize = 64 << 10;

/// Longest line that is parsed as a structured line, in bytes.
const LONGEST_EVENT: usize = 1 << 20;

/// A line of a log in the structured form.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "@message")]
    message: String,
    /// The error or warning whose summary the message is.
    #[serde(default)]
    diagnostic: Value,
}

impl Event {
    /// The place and the detail, as in plain output. Empty for other events.
    fn rest(&self) -> String {
        let (detail, range) = (&self.diagnostic["detail"], &self.diagnostic["range"]);
        let mut text = String::new();
        if let (Some(file), Some(line)) =
            (range["filename"].as_str(), range["start"]["line"].as_u64())
        {
            text = format!("\n\n  on {file} line {line}:");
        }
        if let Some(detail) = detail.as_str().filter(|detail| !detail.is_empty()) {
            text = format!("{text}\n\n{detail}\n");
        }
        text
    }
}

/// The log of a plan or an apply, as far as it was read.
pub(super) struct StageLog {
    step: Step,
    offset: u64,
    /// The begin of a line, or its end if parts of it were passed on.
    partial: Vec<u8>,
    /// Parts of the line that is being read were passed on.
    continues: bool,
    /// The text of the whole stage so far, without the beginning of a long text.
    tail: String,
    has_begun: bool,
    is_complete: bool,
}

impl StageLog {
    pub(super) const fn new(step: Step) -> Self {
        Self {
            step,
            offset: 0,
            partial: Vec::new(),
            continues: false,
            tail: String::new(),
            has_begun: false,
            is_complete: false,
        }
    }

    /// Reads all output that is available. With `is_over` the stage has ended: no more output will come.
    ///
    /// # Cancellation
    /// Lines that were passed on are not passed on again.
    pub(super) async fn read(
        &mut self,
        server: &Server,
        url: &SignedUrl,
        output: &Arc<dyn OutputSink>,
        is_over: bool,
    ) -> Result<(), ApiError> {
        if !mem::replace(&mut self.has_begun, true) {
            output.step_began(self.step);
        }
        while !self.is_complete {
            let piece = server.log_piece(url, self.offset, PIECE).await?;
            let is_same = piece.next_offset == self.offset;
            self.offset = piece.next_offset;
            self.is_complete = piece.is_last;
            self.take(&piece.content, output);
            if is_same {
                break;
            }
        }
        if is_over || self.is_complete {
            self.finish(output);
        }
        Ok(())
    }

    /// The stage took this long, and its log is read.
    pub(super) fn end(&self, output: &Arc<dyn OutputSink>, took: Duration) {
        output.step_ended(self.step, took);
    }

    /// The end of the text so far.
    pub(super) fn tail(&self) -> &str {
        &self.tail
    }

    fn take(&mut self, content: &[u8], output: &Arc<dyn OutputSink>) {
        let mut rest = content;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.partial.extend_from_slice(line);
            rest = after.get(1..).unwrap_or_default();
            self.line(output);
        }
        self.partial.extend_from_slice(rest);
        let may_be_event = !self.continues && self.partial.starts_with(b"{");
        let longest = if may_be_event {
            LONGEST_EVENT
        } else {
            LONGEST_LINE
        };
        if self.partial.len() > longest {
            let bytes = mem::take(&mut self.partial);
            self.continues = true;
            self.pass(&plain(&bytes), true, output);
        }
    }

    fn finish(&mut self, output: &Arc<dyn OutputSink>) {
        if !self.partial.is_empty() {
            self.line(output);
        }
    }

    /// Passes the collected line on.
    fn line(&mut self, output: &Arc<dyn OutputSink>) {
        let bytes = mem::take(&mut self.partial);
        let is_rest = mem::take(&mut self.continues);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_end_matches('\r');
        let event = (!is_rest && text.len() <= LONGEST_EVENT)
            .then(|| serde_json::from_str::<Event>(text).ok())
            .flatten();
        let Some(event) = event else {
            return self.pass(&strip_ansi_escapes::strip_str(text), false, output);
        };
        output.event(text);
        // The message has escapes of its own, which JSON has hidden.
        let message = format!("{}{}", event.message, event.rest());
        let message = strip_ansi_escapes::strip_str(message);
        for text in message.split('\n') {
            self.pass(text, false, output);
        }
    }

    /// Passes on a line, or a part of a line, in pieces.
    fn pass(&mut self, text: &str, continues: bool, output: &Arc<dyn OutputSink>) {
        self.tail.push_str(text);
        if !continues {
            self.tail.push('\n');
        }
        let mut rest = text;
        loop {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(LONGEST_LINE));
            rest = after;
            output.line(OutputLine {
                continues: continues || !rest.is_empty(),
                ..OutputLine::new(OutputStream::Stdout, piece.to_owned())
            });
            if rest.is_empty() {
                break;
            }
        }
        if self.tail.len() > 2 * TAIL {
            let begin = self.tail.len() - TAIL;
            let begin = self.tail.ceil_char_boundary(begin);
            self.tail.drain(..begin);
        }
    }
}

/// The text of bytes without escapes. A character or an escape across two parts of a line is lost.
fn plain(bytes: &[u8]) -> String {
    strip_ansi_escapes::strip_str(String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[derive(Default)]
    struct Lines(Mutex<Vec<String>>);

    impl OutputSink for Lines {
        fn line(&self, line: OutputLine) {
            self.0.lock().push(line.text);
        }

        fn event(&self, line: &str) {
            self.0.lock().push(format!("event {}", line.len()));
        }
    }

    fn lines(pieces: &[&str]) -> Vec<String> {
        let lines = Arc::new(Lines::default());
        let output = Arc::clone(&lines) as Arc<dyn OutputSink>;
        let mut log = StageLog::new(Step::Plan);
        for piece in pieces {
            log.take(piece.as_bytes(), &output);
        }
        log.finish(&output);
        lines.0.lock().clone()
    }

    #[test]
    fn lines_are_put_together_without_colours() {
        assert_eq!(
            lines(&["\u{1b}[1mPlan:", "\u{1b}[0m 1 to add\r\nn", "ext\n", "last"]),
            ["Plan: 1 to add", "next", "last"]
        );
    }

    #[test]
    fn structured_lines_are_shown_as_their_message() {
        let event = r#"{"@level":"info","@message":"one\ntwo","type":"version"}"#;
        let all = lines(&[event, "\n{\"x\":1}\n"]);
        assert_eq!(all[1..], ["one", "two", "{\"x\":1}"]);
        assert!(all[0].starts_with("event "));
    }

    #[test]
    fn a_structured_error_has_its_place_and_detail() {
        let event = r#"{"@message":"Error: No","diagnostic":{"severity":"error","summary":"No","detail":"It \u001b[1mrefuses.\n\nMore.",
            "range":{"filename":"main.tf","start":{"line":3}}}}"#;
        let event = event.replace('\n', "");
        let expected = [
            "Error: No",
            "",
            "  on main.tf line 3:",
            "",
            "It refuses.",
            "",
            "More.",
            "",
        ];
        assert_eq!(lines(&[&event, "\n"])[1..], expected);
        let odd = r#"{"@message":"Error: No","diagnostic":[3]}"#;
        assert_eq!(lines(&[odd, "\n"])[1..], ["Error: No"]);
    }

    #[test]
    fn the_message_of_a_structured_line_has_no_escapes() {
        let event = r#"{"@message":"\u001b]0;title\u0007a\u001b[2Jb\u0008c"}"#;
        assert_eq!(lines(&[event, "\n"])[1..], ["abc"]);
    }

    /// The log of a server has no limit of its own.
    #[test]
    fn a_line_without_end_is_passed_on_in_pieces() {
        for begin in ["{\"@message\":\"", "x"] {
            let output = Arc::new(Lines::default());
            let sink = Arc::clone(&output) as Arc<dyn OutputSink>;
            let mut log = StageLog::new(Step::Plan);
            log.take(begin.as_bytes(), &sink);
            let mut sent = begin.len();
            for _ in 0..40 {
                let part = "long ".repeat(20_000);
                sent += part.len();
                log.take(part.as_bytes(), &sink);
                assert!(log.partial.len() <= LONGEST_EVENT + part.len(), "{begin}");
            }
            log.take(b"\"}\nnext\n", &sink);
            let lines = output.0.lock();
            assert!(lines.iter().all(|line| line.len() <= LONGEST_LINE));
            let bytes: usize = lines.iter().map(String::len).sum();
            assert_eq!(bytes, sent + "\"}next".len(), "{begin}");
            assert_eq!(lines.last().map(String::as_str), Some("next"));
        }
    }

    #[test]
    fn a_long_message_comes_in_pieces() {
        let message = "m".repeat(3 * LONGEST_LINE);
        let all = lines(&[&format!("{{\"@message\":\"{message}\"}}\n")]);
        assert!(all[1..].iter().all(|line| line.len() <= LONGEST_LINE));
        assert_eq!(all[1..].concat(), message);
    }

    #[test]
    fn only_the_end_of_a_long_log_is_kept() {
        let output = Arc::new(Lines::default()) as Arc<dyn OutputSink>;
        let mut log = StageLog::new(Step::Apply);
        for _ in 0..20_000 {
            log.take("twenty bytes a line\n".as_bytes(), &output);
        }
        assert!(log.tail().len() <= 2 * TAIL + 20);
    }
}
