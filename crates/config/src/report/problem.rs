//! Problems and the report that collects them.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, Severity as MietteSeverity,
    SourceCode,
};
use serde::Serialize;
use serde::ser::{SerializeStruct as _, Serializer};

use crate::report::location::SourceLocation;
use crate::report::problem_kind::ProblemKind;

/// How many problems a rendered report shows. A file can be made of nothing else.
const MOST_SHOWN: usize = 1000;

/// How bad a problem is; serialized as `error` and `warning`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// Can be used, but not all of it means what it seems to.
    Warning,
}

/// One thing that is wrong with the configuration.
#[derive(Debug, Clone)]
pub struct Problem {
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) place: Option<SourceLocation>,
    pub(crate) kind: ProblemKind,
}

impl Problem {
    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The problem and the expected value; lower case, one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// How to mend it, if that is known.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Name of the file as it was given, or found in a directory that was given.
    pub fn file(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.source.name())
    }

    /// Line, counted from one.
    pub fn line(&self) -> Option<usize> {
        self.position().map(|(line, _)| line)
    }

    /// Column in characters, counted from one.
    pub fn column(&self) -> Option<usize> {
        self.position().map(|(_, column)| column)
    }

    fn position(&self) -> Option<(usize, usize)> {
        let place = self.place.as_ref()?;
        Some(place.source.position(place.span.start))
    }

    /// Line and column of the first character after the place, both from one.
    fn end(&self) -> Option<(usize, usize)> {
        let place = self.place.as_ref()?;
        Some(place.source.position(place.span.end))
    }

    /// Files in the order in which they were read; what belongs to no file comes first.
    fn sort_key(&self) -> Option<(usize, usize)> {
        let place = self.place.as_ref()?;
        Some((place.source.order(), place.span.start))
    }
}

/// The form for programs; unknown values are `null`. Contains no text of the file.
impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (line, column) = self.position().unzip();
        let (end_line, end_column) = self.end().unzip();
        let mut fields = serializer.serialize_struct("Problem", 8)?;
        fields.serialize_field("severity", &self.severity)?;
        fields.serialize_field("message", self.message())?;
        fields.serialize_field("help", &self.help())?;
        fields.serialize_field("file", &self.file())?;
        fields.serialize_field("line", &line)?;
        fields.serialize_field("column", &column)?;
        fields.serialize_field("end_line", &end_line)?;
        fields.serialize_field("end_column", &end_column)?;
        fields.end()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl Diagnostic for Problem {
    fn severity(&self) -> Option<MietteSeverity> {
        Some(match self.severity {
            Severity::Error => MietteSeverity::Error,
            Severity::Warning => MietteSeverity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let help = self.help.as_ref()?;
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        let place = self.place.as_ref()?;
        Some(&*place.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let place = self.place.as_ref()?;
        let shown = place.source.first_line(&place.span);
        let label = LabeledSpan::new_primary_with_span(None, shown);
        Some(Box::new(std::iter::once(label)))
    }
}

/// Errors and doubts about a configuration, in the order of files and lines; serialized as the list of its
/// problems.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Report {
    problems: Vec<Problem>,
}

impl Report {
    pub(crate) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(Problem::sort_key);
        Self { problems }
    }

    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.problems.is_empty()
    }

    /// How many problems are of this severity.
    pub fn count(&self, severity: Severity) -> usize {
        let same = |problem: &&Problem| problem.severity == severity;
        self.problems.iter().filter(same).count()
    }

    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The report as plain text: no colours, the same for the same files whatever the terminal is.
    /// Values of secret keys are covered by asterisks.
    pub fn render(&self) -> String {
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme::none())
            .with_links(false)
            .with_context_lines(0)
            .with_wrap_lines(false)
            .without_cause_chain();
        let mut text = String::new();
        for problem in self.problems.iter().take(MOST_SHOWN) {
            if let Err(fmt::Error) = handler.render_report(&mut text, problem) {
                text.push_str(problem.message());
            }
            text.push('\n');
        }
        let rest = self.problems.len().saturating_sub(MOST_SHOWN);
        if rest > 0 {
            text.push_str("and ");
            text.push_str(&rest.to_string());
            text.push_str(" more that are not shown\n\n");
        }
        text.push_str(&self.to_string());
        text.push('\n');
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = [(Severity::Error, "problem"), (Severity::Warning, "warning")]
            .into_iter()
            .filter_map(|(severity, noun)| match self.count(severity) {
                0 => None,
                1 => Some(format!("1 {noun}")),
                count => Some(format!("{count} {noun}s")),
            });
        let counted: Vec<String> = counted.collect();
        if counted.is_empty() {
            return f.write_str("no problems in the configuration");
        }
        write!(f, "{} in the configuration", counted.join(", "))
    }
}

impl std::error::Error for Report {}

impl Diagnostic for Report {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(
            self.problems
                .iter()
                .map(|problem| problem as &dyn Diagnostic),
        ))
    }
}
