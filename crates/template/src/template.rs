//! A template and its evaluation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use gotmpl::{MissingKey, Value};

use crate::functions::functions;
use crate::source::{Found, Source};
use crate::sources::{OURS, Sources};

/// Elements that all loops of a template go through, at most.
const LOOPS: u64 = 10_000;

/// Appended to every template that is evaluated: the library stops at an `{{ end }}` that ends nothing, without
/// an error.
const END: char = '\u{2}';

/// A text that is a template.
#[derive(Debug, Clone)]
pub struct Template {
    text: String,
}

/// Result of an evaluation.
#[derive(Clone, PartialEq, Eq)]
pub enum Evaluation {
    /// The text. May be secret.
    Done(String),
    /// The evaluation cannot go on without these.
    Needs(BTreeSet<Source>),
}

/// A template has no value. The text names places and sources, and no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(String);

impl Template {
    /// Checks that `text` is written in the language, and calls only functions that exist.
    pub fn new(text: &str) -> Result<Self, TemplateError> {
        let nothing = Arc::new(Sources::of(BTreeMap::new()));
        language(&nothing).parse(text).map_err(described)?;
        Ok(Self {
            text: text.to_owned(),
        })
    }

    /// Evaluates it with what was found so far.
    pub fn evaluate(&self, found: &BTreeMap<Source, Found>) -> Result<Evaluation, TemplateError> {
        let sources = Arc::new(Sources::of(found.clone()));
        let template = language(&sources).parse(&format!("{}{END}", self.text));
        let result = template.map_err(described)?.execute_to_string(&Value::Nil);
        let needs = sources.needs();
        if !needs.is_empty() {
            return Ok(Evaluation::Needs(needs));
        }
        let mut text = result.map_err(described)?;
        match text.pop() {
            Some(END) => Ok(Evaluation::Done(text)),
            _ => Err(TemplateError(
                "the template cannot be read: there is an {{ end }} too many".to_owned(),
            )),
        }
    }
}

impl fmt::Debug for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(_) => f.write_str("Done"),
            Self::Needs(sources) => f.debug_tuple("Needs").field(sources).finish(),
        }
    }
}

/// A template without a text, over `sources`.
fn language(sources: &Arc<Sources>) -> gotmpl::Template {
    gotmpl::Template::new("")
        .missing_key(MissingKey::Error)
        .max_range_iters(LOOPS)
        .funcs(functions(sources))
}

/// Errors of the language's own functions may show what they were given.
fn described(error: gotmpl::TemplateError) -> TemplateError {
    use gotmpl::TemplateError as Error;
    TemplateError(match error {
        Error::Exec(reason) => match reason.split_once(OURS) {
            Some((_, ours)) => ours.to_owned(),
            None => "the template cannot be evaluated".to_owned(),
        },
        Error::MissingKey { key } => format!("there is no field {key:?}"),
        Error::Parse { .. }
        | Error::Lex { .. }
        | Error::UndefinedFunction(_)
        | Error::UndefinedVariable(_)
        | Error::UndefinedTemplate(_) => format!("the template cannot be read: {error}"),
        Error::ArgCount { name, .. } => format!("`{name}` has the wrong number of arguments"),
        _ => "the template cannot be evaluated".to_owned(),
    })
}
