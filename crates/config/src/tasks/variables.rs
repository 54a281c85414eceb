//! Variables of a task's module: HCL 2 files and expressions (docs/configuration.md#task).

mod cost;
mod exact;
pub(crate) mod raw;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cts_core::hidden::{is_secret_name, shown};
use hcl::edit::parser::{parse_body, parse_expr};
use hcl::edit::structure::{Attribute, Structure};
use hcl::edit::{Span as _, expr as edit};
use hcl::eval::{ErrorKind, Evaluate};
use serde_json::Value;

use crate::decode::source::read_bytes;
use crate::report::location::{Located, SourceLocation, SourceText};
use crate::report::mask::mask_text;
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;
use cost::is_bounded;
use exact::make_exact;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Sorts variable files after all configuration files in a report.
const FIRST_ORDER: usize = usize::MAX / 2;

/// Levels of lists and objects within each other that a value may have. A text has no more than the parser allows, but
/// loops can put values into values, and stored JSON is read to 128 levels.
const DEPTH: usize = 64;

/// By name; with the places of the names.
type Values = BTreeMap<String, Located<Value>>;

/// Reads variable files, each once however many tasks name it.
#[derive(Debug)]
pub(crate) struct VariableFiles<'a> {
    sink: &'a Sink,
    read: HashMap<PathBuf, Result<Values, String>>,
}

impl<'a> VariableFiles<'a> {
    pub(crate) fn new(sink: &'a Sink) -> Self {
        Self {
            sink,
            read: HashMap::new(),
        }
    }

    /// The files that were read and have a value that is hidden where it is shown, in the order of their paths.
    pub(crate) fn with_secrets(&self) -> Vec<PathBuf> {
        let is_hidden = |(name, located): (&String, &Located<Value>)| {
            shown(name, &located.value) != located.value
        };
        let read = self.read.iter().filter_map(|(path, values)| {
            let values = values.as_ref().ok()?;
            values.iter().any(is_hidden).then(|| path.clone())
        });
        let mut files: Vec<_> = read.collect();
        files.sort();
        files
    }

    /// The values of a file. One that cannot be opened is reported wherever it is named, faults in it
    /// once, where they are.
    pub(crate) fn read(&mut self, file: &Located<String>) -> Values {
        let path = self.sink.absolute(&file.value);
        if !self.read.contains_key(&path) {
            let order = FIRST_ORDER + self.read.len();
            let values = read_values(&path, &file.value, order, self.sink);
            self.read
                .insert(path.clone(), values.map_err(|error| error.to_string()));
        }
        match self.read.get(&path) {
            Some(Ok(values)) => values.clone(),
            Some(Err(reason)) => {
                let message = format!("cannot read variable file {}: {reason}", path.display());
                self.sink.error(&file.place, message);
                self.sink.classify(ProblemKind::VariableFile);
                Values::new()
            }
            None => Values::new(),
        }
    }
}

fn read_values(path: &Path, name: &str, order: usize, sink: &Sink) -> io::Result<Values> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let mut shown = text.as_bytes().to_vec();
    mask_text(&mut shown);
    let source = Arc::new(SourceText::new(name.to_owned(), order, &shown));
    let body = match parse_body(text) {
        Ok(body) => body,
        Err(error) => {
            let offset = error.location().offset();
            let place = SourceLocation::new(&source, offset..offset);
            let is_json = Path::new(name)
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
            let help = is_json
                .then(|| "variable files are written in HCL 2; JSON is not supported".to_owned());
            sink.error_with_help(&place, error.message(), help);
            sink.classify(ProblemKind::VariableFile);
            return Ok(Values::new());
        }
    };
    let mut values = Values::new();
    for structure in body {
        match structure {
            Structure::Attribute(attribute) => {
                let key = SourceLocation::new(&source, attribute.key.span().unwrap_or_default());
                let place =
                    SourceLocation::new(&source, attribute.value.span().unwrap_or_default());
                match evaluate(attribute) {
                    Ok((name, value)) => {
                        values.insert(name, Located { value, place: key });
                    }
                    Err(reason) => {
                        sink.error(&place, reason);
                        sink.classify(ProblemKind::VariableFile);
                    }
                }
            }
            Structure::Block(block) => {
                let place = SourceLocation::new(&source, block.ident.span().unwrap_or_default());
                sink.error(&place, "blocks are not allowed in variable files");
                sink.classify(ProblemKind::VariableFile);
            }
        }
    }
    Ok(values)
}

fn evaluate(attribute: Attribute) -> Result<(String, Value), String> {
    let name = attribute.key.as_str().to_owned();
    let length = attribute.value.span().map_or(0, |span| span.len());
    let value = evaluate_expression(attribute.value, length).map_err(|reason| {
        let reason = without_text(&name, &reason);
        format!("variable `{name}` has no constant value: {reason}")
    })?;
    Ok((name, value))
}

/// A reason that may stand in a message: a secret without its quotes is read as a reference, which the
/// reason would name.
fn without_text<'r>(variable: &str, reason: &'r str) -> &'r str {
    if is_secret_name(variable) {
        "it cannot be evaluated, and is not shown"
    } else {
        reason
    }
}

/// Evaluates the text of an HCL 2 expression without variables and functions.
pub(crate) fn evaluate_text(text: &str) -> Result<Value, String> {
    let expression = parse_expr(text.trim()).map_err(|error| error.message().to_owned())?;
    evaluate_expression(expression, text.len())
}

fn evaluate_expression(mut expression: edit::Expression, length: usize) -> Result<Value, String> {
    make_exact(&mut expression)?;
    let expression = hcl::Expression::from(expression);
    if !is_bounded(&expression, length) {
        return Err(
            "its loops and templates would make too large a value, or take too long".into(),
        );
    }
    let value = expression
        .evaluate(&exact::context())
        .map_err(|error| describe(error.kind()))?;
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    if is_deeper(&value, DEPTH) {
        return Err(format!("its value is nested more than {DEPTH} levels deep"));
    }
    if has_nul(&value) {
        return Err("its value has the character U+0000".to_owned());
    }
    Ok(value)
}

fn is_deeper(value: &Value, levels: usize) -> bool {
    let deeper = |value: &Value| levels == 0 || is_deeper(value, levels - 1);
    match value {
        Value::Array(values) => values.iter().any(deeper),
        Value::Object(members) => members.values().any(deeper),
        _ => false,
    }
}

/// Whether there is the character U+0000 in a text or a name, which neither Terraform nor Postgres takes.
fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(has_nul),
        Value::Object(members) => {
            let mut members = members.iter();
            members.any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Describes the error without the values involved: one of them may be a secret.
fn describe(kind: &ErrorKind) -> String {
    match kind {
        ErrorKind::UndefinedVar(name) => format!("the reference `{name}` is not available here"),
        ErrorKind::UndefinedFunc(name) => format!("the function `{name}` is not available here"),
        ErrorKind::Unexpected(_, expected) => format!("expected {expected}"),
        ErrorKind::Index(index) => format!("there is no element {index}"),
        ErrorKind::UnaryOp(operator, _) => {
            format!("operator `{operator}` cannot be applied to this value")
        }
        ErrorKind::BinaryOp(_, operator, _) => {
            format!("operator `{operator}` cannot be applied to these values")
        }
        ErrorKind::FuncCall(_, reason) => reason.clone(),
        ErrorKind::NoSuchKey(_) => "there is no such key".to_owned(),
        ErrorKind::KeyExists(_) => "a key is set twice".to_owned(),
        _ => "it cannot be evaluated".to_owned(),
    }
}
