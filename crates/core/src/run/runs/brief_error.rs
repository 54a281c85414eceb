//! The error of a failed run as one line of the log. The event and the log of the run contain the whole text.

use std::fmt::Write as _;

use super::first_sentence::{COMMAND_FAILED, first_sentence};

/// Separates the errors of several attempts.
pub(super) const JOINTS: [&str; 2] = ["': retry attempt #", "': the attempt before failed '"];

/// Separates the name of an attempt from its error.
const FAILED: &str = " failed '";

/// Ends the text about a failed step, such as `error tf-apply for 'pool': `.
const STEP_END: &str = "': ";

/// Returns the error in one line: the first line of each attempt, with the summaries of Terraform's errors, their
/// places and the first sentences of their details.
///
/// Equal errors, such as those of the instances of one resource, are counted. If an attempt has the same error as the
/// attempt after it, its error is shown as `the same`.
pub fn brief_error(text: &str) -> String {
    let mut brief = String::new();
    let mut body = Body::default();
    let mut lines = text.trim_start().lines();
    brief.push_str(lines.next().unwrap_or_default());
    for line in lines {
        match JOINTS.iter().filter_map(|joint| line.find(joint)).min() {
            Some(end) => {
                let (rest, next) = line.split_at(end);
                body.line(rest);
                std::mem::take(&mut body).append_to(&mut brief);
                brief.push_str(next);
            }
            None => body.line(line),
        }
    }
    // The errors of several attempts end with a quote.
    let is_quoted = body.is_begun && text.ends_with('\'');
    body.append_to(&mut brief);
    if is_quoted {
        brief.push('\'');
    }
    fold_equal_attempts(&brief).unwrap_or(brief)
}

/// Returns the error of the newest attempt in one line, as [`brief_error`] does.
pub fn brief_newest_error(text: &str) -> String {
    let end = JOINTS.iter().filter_map(|joint| text.find(joint)).min();
    let newest = end.map_or(text, |end| &text[..end]);
    brief_error(without_number(newest))
}

/// The error of an attempt without its introduction, such as `retry attempt #2 failed '`.
pub(super) fn without_number(text: &str) -> &str {
    let text = text.strip_prefix("retry attempt #").unwrap_or(text);
    match text.split_once(FAILED) {
        Some((number, error)) if number.bytes().all(|byte| byte.is_ascii_digit()) => error,
        _ => text,
    }
}

/// Shortens the error of an attempt that equals that of the following attempt.
///
/// The words of the original before the first reason stay, because log filters search for them. Returns `None` for
/// the error of one attempt.
fn fold_equal_attempts(brief: &str) -> Option<String> {
    let mut rest = brief.strip_suffix('\'')?;
    let mut folded = String::new();
    let mut later = None;
    loop {
        let end = JOINTS.iter().filter_map(|joint| rest.find(joint)).min();
        let (attempt, next) = rest.split_at(end.unwrap_or(rest.len()));
        let (words, error) = attempt.split_once(FAILED)?;
        let shown = match (later == Some(error), error.find(STEP_END)) {
            (true, Some(end)) => format!("{}{STEP_END}the same", &error[..end]),
            (true, None) => "the same".to_owned(),
            (false, _) => error.to_owned(),
        };
        let _infallible = write!(folded, "{words}{FAILED}{shown}'");
        later = Some(error);
        if next.is_empty() {
            return Some(folded);
        }
        folded.push_str(": ");
        rest = next.strip_prefix("': ")?;
    }
}

/// The lines of an attempt after the first line.
#[derive(Default)]
struct Body {
    errors: Vec<TerraformError>,
    /// The part of the last error to which the next line belongs.
    part: Part,
    /// The first line, for a text without Terraform errors.
    first: Option<String>,
    is_begun: bool,
}

/// An error of Terraform, with its number of equal errors.
struct TerraformError {
    /// Summary and place.
    text: String,
    detail: String,
    times: usize,
}

/// A part of an error, in Terraform's output format.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The place, or the detail of an error without a place.
    Start,
    Place,
    Detail,
    /// Further paragraphs.
    #[default]
    Rest,
}

impl Body {
    fn line(&mut self, line: &str) {
        self.is_begun = true;
        // Terraform prints a frame in front of each line.
        let line = line.trim_matches(['│', '╷', '╵', ' ', '\'']);
        if let Some(summary) = line.strip_prefix("Error: ") {
            self.count_last();
            self.errors.push(TerraformError {
                text: summary.to_owned(),
                detail: String::new(),
                times: 1,
            });
            self.part = Part::Start;
        } else if line.starts_with("Warning: ") {
            self.part = Part::Rest;
        } else if let Some(error) = self.errors.last_mut() {
            self.part = error.line(self.part, line);
        } else if self.first.is_none() && !line.is_empty() {
            self.first = Some(line.to_owned());
        }
    }

    /// Merges the last error, which is now complete, with an equal earlier error.
    fn count_last(&mut self) {
        self.part = Part::Rest;
        let Some(last) = self.errors.pop() else {
            return;
        };
        match self.errors.iter_mut().find(|it| it.text == last.text) {
            Some(equal) => equal.times += 1,
            None => self.errors.push(last),
        }
    }

    fn append_to(mut self, brief: &mut String) {
        self.count_last();
        if self.errors.is_empty() {
            if let Some(first) = self.first {
                let _infallible = write!(brief, ": {first}");
            }
            return;
        }
        for (at, error) in self.errors.iter().enumerate() {
            brief.push_str(if at == 0 { ": " } else { "; " });
            brief.push_str(&error.text);
            if error.times > 1 {
                let _infallible = write!(brief, " ({} times)", error.times);
            }
            let sentence = first_sentence(&error.detail);
            if !sentence.is_empty() {
                let _infallible = write!(brief, ": {sentence}");
            }
        }
    }
}

impl TerraformError {
    /// Processes a line that belongs to `part`, and returns the part of the next line.
    fn line(&mut self, part: Part, line: &str) -> Part {
        let is_command = self.detail.starts_with(COMMAND_FAILED);
        match (part, line.is_empty()) {
            (Part::Start, false) if is_place(line) => self.place(line),
            (Part::Place, false) => self.place(line),
            (Part::Start, true) => Part::Start,
            // The command of a module may contain empty lines, and its output follows.
            (Part::Detail, true) if !self.detail.is_empty() && !is_command => Part::Rest,
            (Part::Place | Part::Detail, true) => Part::Detail,
            (Part::Start | Part::Detail, false) => {
                self.detail.push_str(line);
                self.detail.push('\n');
                Part::Detail
            }
            (Part::Rest, _) => Part::Rest,
        }
    }

    fn place(&mut self, line: &str) -> Part {
        if let Some(place) = place_in(line) {
            let _infallible = write!(self.text, " ({place})");
        }
        Part::Place
    }
}

/// Whether a line after a summary still precedes the detail.
fn is_place(line: &str) -> bool {
    place_in(line).is_some() || line.starts_with("with ") && line.ends_with([',', ':'])
}

/// The place in a line such as `on main.tf line 3, in resource "a" "b":`.
pub(super) fn place_in(line: &str) -> Option<&str> {
    let place = line.strip_prefix("on ")?;
    let place = place.split([',', ':']).next()?;
    place.contains(" line ").then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_errors_of_instances_are_counted() {
        let instance = |key: usize| {
            format!(
                "╷\n│ Error: Invalid reference\n│ \n│   with terraform_data.a[{key}],\n│   on main.tf line 3, in \
                 resource \"terraform_data\" \"a\":\n│    3:   input = b\n╵\n"
            )
        };
        let text = format!(
            "error tf-apply for 'pool': exit status 1\n{}{}\n│ Error: Missing file\n",
            instance(0),
            instance(1)
        );
        assert_eq!(
            brief_error(&text),
            "error tf-apply for 'pool': exit status 1: Invalid reference (main.tf line 3) (2 times); Missing file"
        );
    }

    /// Texts of Terraform 1.14, whose summaries do not name the cause.
    #[test]
    fn errors_have_the_first_sentence_of_their_details() {
        let precondition = "Error: Resource precondition failed\n\n  with terraform_data.a[0],\n  on main.tf line 7, in \
             resource \"terraform_data\" \"a\":\n   7:       condition     = var.open\n    ├────────────────\n    │ \
             var.open is false\n\nThe firewall refuses port 4430. Ask its owners.\n\nMore.\n";
        let command = "Error: local-exec provisioner error\n\n  with terraform_data.b,\n  on main.tf line 12, in resource \
             \"terraform_data\" \"b\":\n  12:   provisioner \"local-exec\" {\n\nError running command 'set -e\n\nexit 3': \
             exit status 3. Output: connecting\nno route to 10.0.0.1\n";
        let of_provider = "Error: Client Error\n\n  with provider[\"registry.terraform.io/a/b\"],\n  on main.tf line 1, in \
             provider \"b\":\n   1: provider \"b\" {\n\nUnable to read pool, got error: 403\n";
        let expected = "exit status 1: Resource precondition failed (main.tf line 7): The firewall refuses port 4430; \
             local-exec provisioner error (main.tf line 12): no route to 10.0.0.1; Client Error (main.tf line 1): Unable \
             to read pool, got error: 403; Without a place: It is so";
        let text = format!(
            "exit status 1\n\n{precondition}\n{command}\n{of_provider}\nError: Without a place\n\nIt is so.\n\n\
             Warning: Other\n\n  on x.tf line 3, in a:\n\nNot this.\n"
        );
        assert_eq!(brief_error(&text), expected);
        let framed = |text: &str| -> String {
            let lines = text.lines().map(|line| format!("│ {line}\n"));
            format!("╷\n{}╵\n", lines.collect::<String>())
        };
        let framed: String = [precondition, command, of_provider].map(framed).concat();
        let expected = expected.replace("; Without a place: It is so", "");
        assert_eq!(brief_error(&format!("exit status 1\n\n{framed}")), expected);
        // The instances of one resource.
        let other = precondition.replace("[0]", "[1]").replace("4430", "4431");
        let text = format!("exit status 1\n\n{precondition}\n{other}");
        assert_eq!(
            brief_error(&text),
            "exit status 1: Resource precondition failed (main.tf line 7) (2 times): The firewall refuses port 4430"
        );
    }

    #[test]
    fn equal_errors_of_attempts_stand_once() {
        let attempt = |host: &str| {
            format!("error tf-apply for 'pool': exit status 1\n\nError: no host {host}\n")
        };
        let brief =
            |host: &str| format!("error tf-apply for 'pool': exit status 1: no host {host}");
        let text = |last: &str, second: &str, first: &str| {
            brief_error(&format!(
                "retry attempt #2 failed '{}': retry attempt #1 failed '{}': the attempt before failed '{}'",
                attempt(last),
                attempt(second),
                attempt(first)
            ))
        };
        let same = "error tf-apply for 'pool': the same";
        let lines = |last: &str, second: &str, first: &str| {
            format!(
                "retry attempt #2 failed '{last}': retry attempt #1 failed '{second}': the attempt before failed \
                 '{first}'"
            )
        };
        assert_eq!(text("a", "a", "a"), lines(&brief("a"), same, same));
        assert_eq!(text("a", "b", "b"), lines(&brief("a"), &brief("b"), same));
        assert_eq!(text("a", "a", "b"), lines(&brief("a"), same, &brief("b")));
        assert_eq!(
            brief_error("retry attempt #1 failed 'full': the attempt before failed 'full'"),
            "retry attempt #1 failed 'full': the attempt before failed 'the same'"
        );
    }

    #[test]
    fn the_error_of_the_newest_attempt_stands_alone() {
        let text = "retry attempt #2 failed 'error tf-apply for 'pool': exit status 1\n\nError: no host a\n\n  on main.tf \
                    line 3:\n': retry attempt #1 failed 'full': the attempt before failed 'full'";
        assert_eq!(
            brief_newest_error(text),
            "error tf-apply for 'pool': exit status 1: no host a (main.tf line 3)"
        );
        assert_eq!(brief_newest_error("error\n\nError: full\n"), "error: full");
        assert_eq!(brief_newest_error(""), "");
    }

    #[test]
    fn a_text_without_errors_of_terraform_keeps_its_first_lines() {
        assert_eq!(brief_error("no such task"), "no such task");
        assert_eq!(
            brief_error("error tf-init for 'a': exit status 1\n\nkilled\nmore\n"),
            "error tf-init for 'a': exit status 1: killed"
        );
        assert_eq!(
            brief_error("\n exit status 1\n\nkilled"),
            "exit status 1: killed"
        );
        assert_eq!(brief_error(""), "");
    }
}
