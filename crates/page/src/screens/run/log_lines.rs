//! Lines of a log in groups: by attempt, and by the phases that Terraform's own words begin.

use std::borrow::Cow;

use cts_proto::log::v1::{LogAttempt, LogExcerpt, ReadLogWindowResponse};

/// The shown lines of one attempt.
pub(super) struct Attempt<'a> {
    /// Number of the attempt; 0 if it is not known.
    pub(super) number: u32,
    /// Whether no attempt above has this number: attempts that do not count share the number of the next one.
    pub(super) is_first: bool,
    first_position: u64,
    pub(super) phases: Vec<Phase<'a>>,
}

/// The shown lines of one phase.
pub(super) struct Phase<'a> {
    /// Word for the phase; empty if it is not known.
    pub(super) name: &'static str,
    pub(super) lines: Vec<&'a LogExcerpt>,
}

/// The lines of a window in groups.
pub(super) fn by_attempt(window: &ReadLogWindowResponse) -> Vec<Attempt<'_>> {
    let mut attempts: Vec<Attempt<'_>> = Vec::new();
    for line in &window.lines {
        let has_line = |it: &&LogAttempt| line.position.wrapping_sub(it.first_position) < it.lines;
        let of = window
            .attempts
            .iter()
            .find(has_line)
            .copied()
            .unwrap_or_default();
        let current = attempts.pop_if(|it| it.first_position == of.first_position);
        let mut attempt = current.unwrap_or_else(|| Attempt {
            number: of.number,
            is_first: of.number > 0 && attempts.iter().all(|it| it.number != of.number),
            first_position: of.first_position,
            phases: Vec::new(),
        });
        let now = attempt.phases.last().map_or("", |phase| phase.name);
        let name = phase_after(now, &line.text);
        match attempt.phases.last_mut().filter(|phase| phase.name == name) {
            Some(phase) => phase.lines.push(line),
            None => attempt.phases.push(Phase {
                name,
                lines: vec![line],
            }),
        }
        attempts.push(attempt);
    }
    attempts
}

/// Beginnings and ends of lines that a phase begins with. A module can print such lines, too: groups are a help for
/// readers, and no statement about the run.
const INIT: [&str; 2] = ["Initializing ", "Upgrading modules"];
const PLAN: [&str; 5] = [
    ": Refreshing state...",
    ": Reading...",
    " used the selected providers",
    "No changes. ",
    " will perform the following actions",
];
const APPLY: [&str; 5] = [
    ": Creating...",
    ": Modifying...",
    ": Destroying...",
    "Apply complete! ",
    "Destroy complete! ",
];

/// The phase after a line in the phase `now`. Phases do not go back within an attempt.
fn phase_after(now: &'static str, line: &str) -> &'static str {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    match now {
        "apply" => now,
        _ if has(&APPLY) => "apply",
        "plan" => now,
        _ if has(&PLAN) => "plan",
        "init" => now,
        _ if has(&INIT) => "init",
        _ => now,
    }
}

/// The line without sequences that would colour a terminal or move its cursor, such as `ESC[31m`. They have no text.
pub(super) fn without_colours(line: &str) -> Cow<'_, str> {
    let mut parts = line.split("\u{1b}[");
    let mut shown = Cow::Borrowed(parts.next().unwrap_or_default());
    for part in parts {
        let rest = part.trim_start_matches(|c| matches!(c, ' '..='?'));
        let end = rest.strip_prefix(|c| matches!(c, '@'..='~'));
        // A sequence that is not whole stays.
        shown += if end.is_some() { "" } else { "\u{1b}[" };
        shown += end.unwrap_or(part);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_terminals_are_left_out_and_other_controls_are_not() {
        for (line, expected) in [
            ("plain", "plain"),
            ("\u{1b}[1;31mError:\u{1b}[0m full\u{1b}[2K", "Error: full"),
            ("\u{1b}[\u{1b}[31ma", "\u{1b}[a"),
            ("a\u{1b}[12", "a\u{1b}[12"),
            (
                "\u{1b}]0;title\u{7}\u{9b}31m",
                "\u{1b}]0;title\u{7}\u{9b}31m",
            ),
        ] {
            assert_eq!(without_colours(line), expected);
        }
    }

    #[test]
    fn phases_begin_with_the_words_of_terraform_and_never_go_back() {
        let lines = [
            ("cts: the state has moved", ""),
            ("Initializing the backend...", "init"),
            ("- Finding hashicorp/local versions", "init"),
            ("data.x.y: Reading...", "plan"),
            ("Initializing the backend...", "plan"),
            ("Plan: 1 to add, 0 to change, 0 to destroy.", "plan"),
            ("local_file.a: Creating...", "apply"),
            ("data.x.y: Reading...", "apply"),
        ];
        let mut now = "";
        for (line, expected) in lines {
            now = phase_after(now, line);
            assert_eq!(now, expected, "{line}");
        }
    }
}
