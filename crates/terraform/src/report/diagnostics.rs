//! Diagnostics in Terraform's plain form:
//!
//! ```text
//! Error: <summary>
//!
//!   with <address>,
//!   on <file> line <line>, in <context>:
//!    <line>: <code>
//!
//! <detail>
//! ```

use std::mem;

use cts_proto::run::v1::{Diagnostic, DiagnosticSeverity};
use cts_proto::run_report::DIAGNOSTICS_KEPT;

/// Most bytes of one diagnostic while it is read; fewer bytes are kept in the end.
const LONGEST: usize = 64 * 1024;

/// Maximum of diagnostics that are compared; later diagnostics are only counted.
const KEPT: usize = 2 * DIAGNOSTICS_KEPT;

/// Reads diagnostics line by line. Terraform leaves an empty line before each.
#[derive(Debug)]
pub(super) struct Diagnostics {
    kept: Vec<Diagnostic>,
    more: u32,
    open: Option<Open>,
    /// Whether the previous line was empty or missing.
    behind_empty: bool,
}

/// A diagnostic whose end is not read yet.
#[derive(Debug)]
struct Open {
    diagnostic: Diagnostic,
    part: Part,
    bytes: usize,
}

/// The part of a diagnostic that the next line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The place, or the detail if the diagnostic has no place.
    Start,
    /// More of the place.
    Place,
    Detail,
}

impl Default for Diagnostics {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            more: 0,
            open: None,
            behind_empty: true,
        }
    }
}

impl Diagnostics {
    /// Reads one line.
    pub(super) fn line(&mut self, text: &str) {
        // Early in a command Terraform draws a frame even where it is to use no colours.
        let text = match text.strip_prefix('│') {
            Some(rest) => rest.strip_prefix(' ').unwrap_or(rest),
            None => text,
        };
        let behind_empty = mem::replace(
            &mut self.behind_empty,
            text.is_empty() || text.starts_with(['╷', '╵']),
        );
        if text.starts_with('╵') {
            self.end();
        } else if behind_empty && let Some((severity, summary)) = beginning(text) {
            self.end();
            self.behind_empty = false;
            self.open = Some(Open::new(severity, summary));
        } else if let Some(open) = &mut self.open {
            open.line(text);
        }
    }

    /// Ends the open diagnostic: the lines that follow are not part of it.
    pub(super) fn end(&mut self) {
        self.behind_empty = true;
        let Some(Open { mut diagnostic, .. }) = self.open.take() else {
            return;
        };
        diagnostic
            .detail
            .truncate(diagnostic.detail.trim_end().len());
        diagnostic
            .snippet
            .truncate(diagnostic.snippet.trim_end().len());
        self.keep(diagnostic);
    }

    /// Keeps a diagnostic, unless an equal diagnostic is kept already: Terraform repeats the diagnostics of a plan when
    /// it applies.
    pub(super) fn keep(&mut self, diagnostic: Diagnostic) {
        if self.kept.contains(&diagnostic) {
            return;
        }
        if self.kept.len() < KEPT {
            self.kept.push(diagnostic);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }

    /// Adds diagnostics from another source.
    pub(super) fn take_in(&mut self, mut other: Self) {
        self.end();
        other.end();
        for diagnostic in mem::take(&mut other.kept) {
            self.keep(diagnostic);
        }
        self.more = self.more.saturating_add(other.more);
    }

    /// The diagnostics, and the number of the remaining diagnostics.
    pub(super) fn finish(mut self) -> (Vec<Diagnostic>, u32) {
        self.end();
        (self.kept, self.more)
    }
}

impl Open {
    fn new(severity: DiagnosticSeverity, summary: &str) -> Self {
        Self {
            diagnostic: Diagnostic {
                severity: severity.into(),
                summary: summary.to_owned(),
                ..Diagnostic::default()
            },
            part: Part::Start,
            bytes: 0,
        }
    }

    fn line(&mut self, text: &str) {
        let diagnostic = &mut self.diagnostic;
        match self.part {
            Part::Start if text.is_empty() => {}
            Part::Place if text.is_empty() => self.part = Part::Detail,
            Part::Start | Part::Place
                if text.starts_with("  with ") && diagnostic.file.is_empty() =>
            {
                diagnostic.address = String::from(text[7..].trim_end_matches([',', ':']));
                self.part = Part::Place;
            }
            Part::Start | Part::Place if diagnostic.file.is_empty() && place(text).is_some() => {
                if let Some((file, line)) = place(text) {
                    diagnostic.file = String::from(file);
                    diagnostic.line = line;
                }
                self.part = Part::Place;
            }
            Part::Place if text.starts_with(' ') => {
                Self::add(&mut diagnostic.snippet, &mut self.bytes, text);
            }
            Part::Detail if text.is_empty() && diagnostic.detail.is_empty() => {}
            Part::Start | Part::Place | Part::Detail => {
                self.part = Part::Detail;
                Self::add(&mut diagnostic.detail, &mut self.bytes, text);
            }
        }
    }

    fn add(to: &mut String, bytes: &mut usize, line: &str) {
        *bytes += line.len() + 1;
        if *bytes <= LONGEST {
            to.push_str(line);
            to.push('\n');
        }
    }
}

fn beginning(text: &str) -> Option<(DiagnosticSeverity, &str)> {
    let error = text
        .strip_prefix("Error: ")
        .map(|it| (DiagnosticSeverity::Error, it));
    error.or_else(|| {
        let warning = text.strip_prefix("Warning: ");
        warning.map(|it| (DiagnosticSeverity::Warning, it))
    })
}

/// File and line of `  on main.tf line 3, in resource "x" "y":`.
fn place(text: &str) -> Option<(&str, u32)> {
    let rest = text.strip_prefix("  on ")?;
    rest.match_indices(" line ").find_map(|(at, found)| {
        let behind = &rest[at + found.len()..];
        let end = behind.find(|c: char| !c.is_ascii_digit())?;
        let (line, behind) = behind.split_at(end);
        let ends = behind.starts_with(", in ") || behind.starts_with(':');
        Some((&rest[..at], line.parse().ok().filter(|_| ends)?))
    })
}
