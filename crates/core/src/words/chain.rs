//! Errors in full.

use std::error::Error;
use std::fmt;

/// Displays an error with all its causes, outermost first, on one line, for a log or a caller.
///
/// Errors of cts do not repeat their cause, but errors of some other crates do: a text that was already shown is not
/// repeated.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !said.ends_with(&text) {
                write!(f, ": {text}")?;
                said = text;
            }
            cause = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open")]
    struct Outer(#[source] io::Error);

    #[test]
    fn causes_follow_the_error() {
        let error = Outer(io::Error::other("disk gone"));
        assert_eq!(Chain(&error).to_string(), "cannot open: disk gone");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("cannot write: {0}")]
    struct Repeating(#[source] io::Error);

    #[test]
    fn omits_causes_that_the_error_already_contains() {
        let error = Repeating(io::Error::other("disk gone"));
        assert_eq!(Chain(&error).to_string(), "cannot write: disk gone");
    }
}
