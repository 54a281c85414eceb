//! Errors in full.

use std::error::Error;
use std::fmt;

/// Shows an error with all its causes, outermost first, on one line: what a log or a caller gets, since
/// no error repeats its cause.
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
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
}
