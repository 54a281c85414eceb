//! Errors that are stored of a run's attempts, bounded: newer inputs repeatedly give a queued run new attempts, and
//! Terraform's texts may have any length.

use super::attempt::ATTEMPTS;

/// Maximum bytes of the error of one attempt.
pub const ERROR_BYTES: usize = 32 * 1024;

/// Maximum bytes of all errors of a run together, as in its event.
pub const ERRORS_BYTES: usize = ATTEMPTS as usize * (ERROR_BYTES + WORDS);

/// Maximum bytes of the text around an error in the text of all errors of a run.
const WORDS: usize = 40;

/// Start of the error of a cancelled run.
pub const CANCELLED: &str = "cancelled: ";

/// Maximum bytes kept of the end of a text that is too long: the last diagnostics are at the end.
const END: usize = 24 * 1024;

/// Maximum bytes of the line that describes the omission.
const NOTE: usize = 100;

/// Adds an error to the earlier errors, oldest first: the newest three stay, each cut to [`ERROR_BYTES`].
pub fn keep_error(errors: &mut Vec<String>, error: &str) {
    errors.push(shortened(error, ERROR_BYTES));
    let surplus = errors.len().saturating_sub(ATTEMPTS as usize);
    errors.drain(..surplus);
}

/// The errors of a run's attempts, given oldest first, as one text with the newest first.
///
/// `attempts` is the number of the last failed attempt. Errors of retries are chained like in the original. The
/// reason of a cancelled run comes first, because it is not an error of an attempt.
pub fn failure_text(errors: &[String], attempts: u32) -> String {
    let newest_first = errors.iter().rev();
    if errors
        .last()
        .is_some_and(|error| error.starts_with(CANCELLED))
    {
        let texts: Vec<_> = newest_first.map(String::as_str).collect();
        return texts.join("\n\n");
    }
    let attempts = (0..=attempts).rev().chain(std::iter::repeat(0));
    let chain = newest_first.zip(attempts).enumerate();
    let texts = chain.map(|(later, (error, attempt))| match (attempt, later) {
        (2.., _) => format!("retry attempt #{} failed '{error}'", attempt - 1),
        (_, 0) => error.clone(),
        _ => format!("the attempt before failed '{error}'"),
    });
    texts.collect::<Vec<_>>().join(": ")
}

/// The text without its middle, if it is longer than `longest` bytes, with a line that states how much is missing.
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

    #[test]
    fn errors_of_retries_are_chained_with_the_newest_first() {
        let cases: [(&[&str], u32, &str); 8] = [
            (&[], 0, ""),
            (&["a"], 1, "a"),
            (
                &["a", "b"],
                2,
                "retry attempt #1 failed 'b': the attempt before failed 'a'",
            ),
            (
                &["a", "b", "c"],
                3,
                "retry attempt #2 failed 'c': retry attempt #1 failed 'b': the attempt before failed 'a'",
            ),
            (
                &["d", "e", "f"],
                6,
                "retry attempt #5 failed 'f': retry attempt #4 failed 'e': retry attempt #3 failed 'd'",
            ),
            // Attempts of an earlier input.
            (&["a", "b"], 1, "b: the attempt before failed 'a'"),
            (&["a", "b"], 0, "b: the attempt before failed 'a'"),
            (&["a", "b", "cancelled: why"], 2, "cancelled: why\n\nb\n\na"),
        ];
        for (errors, attempts, expected) in cases {
            let errors: Vec<String> = errors.iter().copied().map(str::to_owned).collect();
            assert_eq!(failure_text(&errors, attempts), expected);
        }
    }

    #[test]
    fn a_chain_of_the_longest_errors_is_as_long_as_is_kept() {
        let errors = vec!["x".repeat(ERROR_BYTES); ATTEMPTS as usize];
        assert!(failure_text(&errors, u32::MAX).len() <= ERRORS_BYTES);
    }
}
