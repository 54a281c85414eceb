//! The first sentence of a detail, written by a module's author or a provider.

/// Maximum number of shown characters.
const LONGEST: usize = 160;

/// Minimum column at which Terraform wraps a detail.
const WRAPPED_AT: usize = 75;

/// Start of the detail of a failed command of a module.
pub(super) const COMMAND_FAILED: &str = "Error running command '";

/// Separates the end of a command from its output.
const OUTPUT: &str = ". Output:";

/// Returns the first sentence of a detail of Terraform, without its full stop; for a failed command, that of the last
/// line of its output. Empty without a detail.
pub fn first_sentence(detail: &str) -> String {
    let text = unwrapped(detail);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let output = text
        .strip_prefix(COMMAND_FAILED)
        .and_then(|text| text.split_once("': "))
        .and_then(|(_command, text)| text.split_once(OUTPUT));
    let output = output.map_or("", |(_ending, output)| output.trim());
    let line = output.lines().next_back().or_else(|| lines.next());
    line.map(|line| sentence(line.trim())).unwrap_or_default()
}

/// The detail with unwrapped lines. Terraform wraps a line where the next word does not fit.
fn unwrapped(detail: &str) -> String {
    let mut text = String::new();
    let mut width = 0;
    for line in detail.trim().lines() {
        let line = line.trim_end();
        let word = line.split(' ').next().unwrap_or_default();
        let is_broken = !word.is_empty() && width + 1 + word.chars().count() > WRAPPED_AT;
        if !text.is_empty() {
            text.push(if is_broken { ' ' } else { '\n' });
        }
        text.push_str(line);
        width = line.chars().count();
    }
    text
}

fn sentence(line: &str) -> String {
    let mut letters = line.char_indices().peekable();
    let mut end = line.len();
    while let Some((at, letter)) = letters.next() {
        let ends = letters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if ends && matches!(letter, '.' | '!' | '?') {
            end = at + letter.len_utf8();
            break;
        }
    }
    let text = line[..end].trim_end_matches('.');
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some(_) => text.chars().take(LONGEST - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_at_its_stop_or_its_line() {
        for (detail, expected) in [
            ("", ""),
            (
                "The firewall refuses port 4430.",
                "The firewall refuses port 4430",
            ),
            (
                "The firewall refuses port 4430. Ask for v1.2.",
                "The firewall refuses port 4430",
            ),
            ("No v1.2.3 here!\nMore", "No v1.2.3 here!"),
            (
                "Error message: locked\nLock Info:\n  ID: 1\n",
                "Error message: locked",
            ),
            (
                "The given key does not identify an element in this collection value: the\ncollection has no elements. \
                 Add one.",
                "The given key does not identify an element in this collection value: the collection has no elements",
            ),
        ] {
            assert_eq!(first_sentence(detail), expected);
        }
        let long = first_sentence(&"é".repeat(161));
        assert_eq!(
            (long.chars().count(), long.chars().last()),
            (160, Some('…'))
        );
        assert_eq!(first_sentence(&"é".repeat(160)), "é".repeat(160));
    }

    #[test]
    fn a_failed_command_shows_its_output() {
        for (detail, expected) in [
            (
                "Error running command 'echo The firewall refuses port 4430 >&2; exit 1': exit\nstatus 1. Output: The \
                 firewall refuses port 4430\n",
                "The firewall refuses port 4430",
            ),
            (
                "Error running command 'set -e\n\necho no. Output: x\nexit 3': exit status 3. Output: \nconnecting\nno route. Later",
                "no route",
            ),
            (
                "Error running command 'exit 3': exit status 3. Output: ",
                "Error running command 'exit 3': exit status 3",
            ),
        ] {
            assert_eq!(first_sentence(detail), expected);
        }
    }
}
