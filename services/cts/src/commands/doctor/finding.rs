//! Results of checks.

use cts_cli::{EXIT_ERRORS, EXIT_WARNINGS};

/// How good a finding is; the later, the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    Ok,
    /// Could not be checked, or need not be.
    Skipped,
    Warning,
    Error,
}

impl Grade {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// Name of the check.
    pub(super) check: &'static str,
    pub(super) grade: Grade,
    /// The finding, in one sentence.
    pub(super) found: String,
    /// The remedy, as an instruction; `None` without one.
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self::new(check, Grade::Ok, found, None)
    }

    pub(super) fn skipped(check: &'static str, found: impl Into<String>) -> Self {
        Self::new(check, Grade::Skipped, found, None)
    }

    pub(super) fn warning(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(check, Grade::Warning, found, Some(remedy.into()))
    }

    pub(super) fn error(
        check: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::new(check, Grade::Error, found, Some(remedy.into()))
    }

    fn new(
        check: &'static str,
        grade: Grade,
        found: impl Into<String>,
        remedy: Option<String>,
    ) -> Self {
        Self {
            check,
            grade,
            found: found.into(),
            remedy,
        }
    }
}

pub(super) fn worst(findings: &[Finding]) -> Grade {
    let grades = findings.iter().map(|finding| finding.grade);
    grades.max().unwrap_or(Grade::Ok)
}

/// The exit code (docs/cli.md#exit-codes).
pub(super) fn exit_code(findings: &[Finding]) -> u8 {
    match worst(findings) {
        Grade::Ok | Grade::Skipped => 0,
        Grade::Warning => EXIT_WARNINGS,
        Grade::Error => EXIT_ERRORS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides_the_exit_code() {
        let ok = Finding::ok("a", "");
        let skipped = Finding::skipped("b", "");
        let warning = Finding::warning("c", "", "");
        let error = Finding::error("d", "", "");
        assert_eq!(exit_code(&[]), 0);
        assert_eq!(exit_code(&[ok.clone(), skipped]), 0);
        assert_eq!(exit_code(&[warning.clone(), ok]), EXIT_WARNINGS);
        assert_eq!(exit_code(&[error, warning]), EXIT_ERRORS);
    }
}
