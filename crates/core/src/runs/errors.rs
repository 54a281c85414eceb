//! Errors that are kept of a run's attempts: a newer input gives a queued run new attempts again and again, and
//! Terraform may say anything at any length.

use super::attempt::ATTEMPTS;

/// Longest error of one attempt, in bytes.
pub const ERROR_BYTES: usize = 32 * 1024;

/// Longest text of the errors of a run together, as its event has them, in bytes.
pub const ERRORS_BYTES: usize = ATTEMPTS as usize * (ERROR_BYTES + 2);

/// Bytes kept of the end of a text that is too long, at most: the last diagnostics are at the end.
const END: usize = 24 * 1024;

/// Longest line that says what was left out.
const NOTE: usize = 100;

/// Adds an error to those of earlier attempts, the oldest first: the newest three stay, of each so much as is kept.
pub fn keep_error(errors: &mut Vec<String>, error: &str) {
    errors.push(shortened(error, ERROR_BYTES));
    let surplus = errors.len().saturating_sub(ATTEMPTS as usize);
    errors.drain(..surplus);
}

/// The text without its middle, if it is longer than so many bytes, with a line that says how much is missing.
pub fn shortened(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let room = longest.saturating_sub(NOTE);
    let end = text.ceil_char_boundary(text.len() - END.min(room / 2));
    let begin = text.floor_char_boundary(room - (text.len() - end));
    let left_out = end - begin;
    format!(
        "{}\n[{left_out} bytes are left out here; the log of the run has all of it]\n{}",
        &text[..begin],
        &text[end..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_errors_stay() {
        let mut errors = Vec::new();
        for number in 0..10 {
            keep_error(&mut errors, &number.to_string());
        }
        assert_eq!(errors, ["7", "8", "9"]);
    }

    #[test]
    fn a_long_error_loses_its_middle_and_says_so() {
        let text = format!("begin{}end", "\u{e9}".repeat(100 * ERROR_BYTES));
        let mut errors = Vec::new();
        keep_error(&mut errors, &text);
        let kept = &errors[0];
        assert!(kept.len() <= ERROR_BYTES, "{}", kept.len());
        assert!(kept.len() > ERROR_BYTES - 2 * NOTE, "{}", kept.len());
        assert!(kept.starts_with("begin\u{e9}") && kept.ends_with("\u{e9}end"));
        assert!(kept.contains("bytes are left out here"));
        assert_eq!(shortened(kept, ERROR_BYTES), *kept);
    }
}
