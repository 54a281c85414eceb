//! The line that is completed.

/// Its words up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The complete words after the program.
    pub(super) words: Vec<&'a str>,
    /// The word before the cursor; may be empty.
    pub(super) last: &'a str,
}

impl<'a> Line<'a> {
    /// Cuts `line` at the cursor: `point` counts bytes; what is no place in the line means its end.
    pub(super) fn new(line: &'a str, point: Option<&str>) -> Self {
        let point = point.and_then(|point| point.parse::<usize>().ok());
        let line = point.and_then(|point| line.get(..point)).unwrap_or(line);
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let last = if line.ends_with(char::is_whitespace) {
            ""
        } else {
            words.pop().unwrap_or_default()
        };
        if !words.is_empty() {
            words.remove(0);
        }
        Self { words, last }
    }
}
