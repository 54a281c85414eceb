//! The parameter `run` (docs/rest.md#checks-of-requests, #updating-a-task), which the two families read differently.

use crate::request::query::{QueryError, pairs, single};

/// Work that a request demands in addition to its change of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunMode {
    /// Nothing: the task runs at its next trigger.
    Later,
    /// An apply.
    Now,
    /// An apply that the answer does not wait for.
    Request,
    /// A plan instead of the change.
    Inspect,
}

/// The parameter `run` of the new family is not as the document has it. The texts are answers to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RunModeError {
    #[error("parameter \"run\" in query has an error: empty value is not allowed")]
    Empty,
    #[error(
        "parameter \"run\" in query has an error: value is not one of the allowed values \
         [\"now\",\"inspect\"]"
    )]
    Unknown,
    /// A second declaration cannot be stored next to the declaration in force.
    #[error(
        "parameter \"run\" in query has an error: value is not one of the allowed values [\"now\"]; \
         a replacement cannot be inspected"
    )]
    NoReplacement,
    #[error(
        "parameter \"run\" in query has an error: Invalid format for parameter run: multiple values for single \
         value parameter 'run'"
    )]
    Repeated,
}

impl RunMode {
    /// Reads `query` as the new family does, letter by letter.
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, RunModeError> {
        let pairs = pairs(query.unwrap_or_default());
        let mut values = pairs.iter().filter(|(name, _)| name == "run");
        let mode = match values.next().map(|(_, value)| value.as_str()) {
            None => return Ok(Self::Later),
            Some("now") => Self::Now,
            Some("inspect") => Self::Inspect,
            Some("") => return Err(RunModeError::Empty),
            Some(_) => return Err(RunModeError::Unknown),
        };
        match values.next() {
            None => Ok(mode),
            Some(_) => Err(RunModeError::Repeated),
        }
    }

    /// Reads `query` for the replacement of a task, which cannot be inspected.
    pub(crate) fn parse_for_replacement(query: Option<&str>) -> Result<Self, RunModeError> {
        match Self::parse(query)? {
            Self::Inspect => Err(RunModeError::NoReplacement),
            mode => Ok(mode),
        }
    }

    /// Reads `query` as the legacy family does, in any case of letters.
    pub(crate) fn parse_legacy(query: Option<&str>) -> Result<Self, QueryError> {
        let pairs = pairs(query.unwrap_or_default());
        match single(&pairs, "run")? {
            None => Ok(Self::Later),
            Some(text) if text.eq_ignore_ascii_case("now") => Ok(Self::Now),
            Some(text) if text.eq_ignore_ascii_case("inspect") => Ok(Self::Inspect),
            Some(text) => Err(QueryError::Run(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_family_reads_letter_by_letter() {
        let cases = [
            (None, Ok(RunMode::Later)),
            (Some("runs=now&Run=now"), Ok(RunMode::Later)),
            (Some("run=%zz&run=now;"), Ok(RunMode::Later)),
            (Some("run=now"), Ok(RunMode::Now)),
            (Some("r%75n=ins%70ect"), Ok(RunMode::Inspect)),
            (Some("run"), Err(RunModeError::Empty)),
            (Some("run=&run=now"), Err(RunModeError::Empty)),
            (Some("run=Now"), Err(RunModeError::Unknown)),
            (Some("run=later&run=now"), Err(RunModeError::Unknown)),
            (Some("run=now&run=now"), Err(RunModeError::Repeated)),
            (Some("run=inspect&run="), Err(RunModeError::Repeated)),
        ];
        for (query, expected) in cases {
            assert_eq!(RunMode::parse(query), expected, "{query:?}");
        }
    }

    #[test]
    fn the_legacy_family_reads_any_case() {
        let unknown = |text: &str| Err(QueryError::Run(text.to_owned()));
        let repeated = Err(QueryError::Repeated {
            name: "run",
            values: vec!["now".to_owned(); 2],
        });
        let cases = [
            (None, Ok(RunMode::Later)),
            (Some("RUN=now"), Ok(RunMode::Later)),
            (Some("run=nOw"), Ok(RunMode::Now)),
            (Some("run=INSPECT"), Ok(RunMode::Inspect)),
            (Some("run"), unknown("")),
            (Some("run=later"), unknown("later")),
            (Some("run=now&run=now"), repeated),
        ];
        for (query, expected) in cases {
            assert_eq!(RunMode::parse_legacy(query), expected, "{query:?}");
        }
    }
}
