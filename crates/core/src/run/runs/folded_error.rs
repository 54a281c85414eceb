//! The error of a failed run, without repetitions of equal parts.

use super::brief_error::{JOINTS, place_in, without_number};

/// Returns the error with each of Terraform's errors once.
///
/// Equal errors, such as those of the instances of one resource, are counted, and so are attempts with equal errors.
/// The first of several equal errors stays complete.
pub fn folded_error(text: &str) -> String {
    let mut rest = text;
    let mut parts = Vec::new();
    let next = |rest: &str| {
        let joints = JOINTS.iter();
        joints
            .filter_map(|joint| Some((rest.find(joint)?, *joint)))
            .min()
    };
    while let Some((at, joint)) = next(rest) {
        parts.push((fold(&rest[..at]), joint));
        rest = &rest[at + joint.len()..];
    }
    if parts.is_empty() {
        return fold(text);
    }
    let last = fold(rest);
    let mut errors = parts.iter().map(|(part, _)| without_number(part));
    let bare = last.strip_suffix('\'').unwrap_or(&last);
    if errors.all(|error| error == bare) {
        let count = format!(" (in each of {} attempts)", parts.len() + 1);
        return with_note(bare, &count);
    }
    let mut folded = String::new();
    for (part, joint) in &parts {
        folded.push_str(part);
        folded.push_str(joint);
    }
    folded + &last
}

/// The text with a note at the end of its first non-empty line.
fn with_note(text: &str, note: &str) -> String {
    let begin = text.len() - text.trim_start().len();
    let end = text[begin..].find('\n').map_or(text.len(), |at| begin + at);
    let (first, rest) = text.split_at(end);
    format!("{first}{note}{rest}")
}

/// One of Terraform's errors.
struct Block<'t> {
    lines: Vec<&'t str>,
    /// Index of the line with the summary in `lines`.
    summary: Option<usize>,
    place: Option<&'t str>,
    times: usize,
}

impl<'t> Block<'t> {
    fn add(&mut self, line: &'t str) {
        let plain = without_frame(line);
        if self.summary.is_none() && plain.starts_with("Error: ") {
            self.summary = Some(self.lines.len());
        } else if self.place.is_none() {
            self.place = place_in(plain);
        }
        self.lines.push(line);
    }

    /// Whether this is the same error for a different instance.
    fn equals(&self, other: &Self) -> bool {
        let summary = self.summary_line();
        summary.is_some() && summary == other.summary_line() && self.place == other.place
    }

    fn summary_line(&self) -> Option<&'t str> {
        let line = *self.lines.get(self.summary?)?;
        Some(without_frame(line))
    }
}

/// Terraform prints a frame in front of each line.
fn without_frame(line: &str) -> &str {
    line.trim_matches(['│', ' '])
}

/// The error of an attempt, with equal errors of Terraform merged.
fn fold(text: &str) -> String {
    let new = || Block {
        lines: Vec::new(),
        summary: None,
        place: None,
        times: 1,
    };
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open = new();
    for line in text.split('\n') {
        let begins_frame = line.trim() == "╷";
        let begins = without_frame(line).starts_with("Error: ");
        let is_framed = open.lines.last().is_some_and(|last| last.trim() == "╷");
        if begins_frame || begins && !is_framed {
            keep(&mut blocks, std::mem::replace(&mut open, new()));
        }
        open.add(line);
    }
    keep(&mut blocks, open);
    let lines = blocks.into_iter().flat_map(|block| {
        let Block {
            lines,
            summary,
            times,
            ..
        } = block;
        lines.into_iter().enumerate().map(move |(at, line)| {
            if times > 1 && summary == Some(at) {
                format!("{} ({times} times)", line.trim_end())
            } else {
                line.to_owned()
            }
        })
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn keep<'t>(blocks: &mut Vec<Block<'t>>, block: Block<'t>) {
    if block.lines.is_empty() {
        return;
    }
    match blocks.iter_mut().find(|kept| kept.equals(&block)) {
        Some(kept) => kept.times += 1,
        None => blocks.push(block),
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure_text;
    use super::*;

    fn instance(key: usize) -> String {
        format!(
            "\nError: Invalid reference\n\n  with terraform_data.a[{key}],\n  on main.tf line 3, in resource:\n   3: x\n"
        )
    }

    fn folded(errors: &[&str]) -> String {
        let errors: Vec<String> = errors.iter().map(|&error| error.to_owned()).collect();
        let attempts = u32::try_from(errors.len()).unwrap();
        folded_error(&failure_text(&errors, attempts))
    }

    #[test]
    fn equal_errors_of_instances_and_attempts_are_counted_and_the_first_stays_whole() {
        let many: String = (0..4).map(instance).collect();
        let other = "\nError: Missing file\n";
        let error = format!("error tf-apply for 'pool': exit status 1\n{many}{other}");
        let first = instance(0).replace("reference\n", "reference (4 times)\n");
        let once = format!("error tf-apply for 'pool': exit status 1\n{first}{other}");
        assert_eq!(folded(&[&error]), once);
        let noted = once.replace("status 1\n", "status 1 (in each of 3 attempts)\n");
        assert_eq!(folded(&[&error, &error, &error]), noted);
        let different =
            format!("retry attempt #1 failed 'no token': the attempt before failed '{once}'");
        assert_eq!(folded(&[&error, "no token"]), different);
    }

    #[test]
    fn frames_stay_whole() {
        let framed =
            |key| format!("╷\n│ Error: No\n│ \n│   with a[{key}],\n│   on main.tf line 3:\n╵\n");
        let text = format!("exit status 1\n{}{}", framed(0), framed(1));
        let expected = format!(
            "exit status 1\n{}",
            framed(0).replace("No\n", "No (2 times)\n")
        );
        assert_eq!(folded_error(&text).trim_end(), expected.trim_end());
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "",
            "no",
            "\ncould not apply: exit status 1\n\nError: no route\n",
            "Error: a\n\n  on main.tf line 3:\n\nError: a\n\n  on main.tf line 4:\n",
        ] {
            assert_eq!(folded_error(text), text);
        }
    }
}
