//! Reads one configuration file, HCL or JSON, into a tree.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use cts_hcl1::{Body, Span, Value, ValueKind};

use crate::decode::json;
use crate::decode::tree::ParsedFile;
use crate::report::location::{Rules, SourceLocation, SourceText};
use crate::report::mask::{mask_text, mask_tree};
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;

/// Larger than any real configuration file.
const MAXIMUM_SIZE: u64 = 64 << 20;

/// Kind of a file: the syntax, and the rules by which its content is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Hcl,
    Json,
    /// JSON in a file that ends in `.hcl`: its content is understood as that of HCL, as it always was.
    JsonAsHcl,
}

/// A fault of either language.
struct Fault {
    message: String,
    span: Span,
    help: Option<String>,
}

/// Reads the file; faults are reported. `order` is that of the file among all.
pub(super) fn read(path: &Path, order: usize, sink: &Sink) -> Option<ParsedFile> {
    let name = path.display().to_string();
    let mut bytes = match read_bytes(&sink.current_dir.join(path)) {
        Ok(bytes) => bytes,
        Err(error) => {
            sink.error_outside(format!("cannot read {name}: {error}"));
            return None;
        }
    };
    let format = format_of(path, &bytes);
    let rules = match format {
        Format::Hcl | Format::JsonAsHcl => Rules::Hcl,
        Format::Json => Rules::Json,
    };
    let source_of =
        |bytes: &[u8]| Arc::new(SourceText::new(name.clone(), order, bytes).with_rules(rules));
    match parse(format, &bytes) {
        Ok(mut body) => {
            mask_tree(&mut bytes, &body);
            let source = source_of(&bytes);
            if format == Format::Json {
                keep_last(&mut body, &source, sink);
            }
            Some(ParsedFile { source, body })
        }
        Err(fault) => {
            let before = bytes.clone();
            mask_text(&mut bytes);
            let source = source_of(&bytes);
            let place = SourceLocation::new(&source, fault.span.clone());
            let covered = before.get(fault.span.clone()) != bytes.get(fault.span);
            if covered && format == Format::Hcl {
                // The parser quotes what it stumbled over, and here that is part of a secret.
                sink.error(&place, "syntax error in a value that is not shown");
            } else {
                sink.error_with_help(&place, fault.message, fault.help);
            }
            sink.classify(ProblemKind::Syntax);
            None
        }
    }
}

/// The content of a regular file of a reasonable size; opening a pipe may block for ever, and a
/// device may have no end.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAXIMUM_SIZE + 1)
        .read_to_end(&mut bytes)?;
    let limit = usize::try_from(MAXIMUM_SIZE).unwrap_or(usize::MAX);
    if bytes.len() > limit {
        return Err(io::Error::other("it is larger than 64 MiB"));
    }
    Ok(bytes)
}

/// By the name, and for HCL files by the first character that is not blank (docs/configuration.md#hcl).
fn format_of(path: &Path, bytes: &[u8]) -> Format {
    if path
        .file_name()
        .is_some_and(|name| ends_with(name, ".json"))
    {
        return Format::Json;
    }
    let chunk = bytes.utf8_chunks().next();
    let start = chunk.map_or("", |chunk| chunk.valid());
    if start.trim_start().starts_with('{') {
        Format::JsonAsHcl
    } else {
        Format::Hcl
    }
}

fn parse(format: Format, bytes: &[u8]) -> Result<Body, Fault> {
    const AS_JSON: &str = "a file that begins with `{` is read as JSON; HCL begins with a key";
    match format {
        Format::Hcl => cts_hcl1::parse(bytes).map_err(|error| Fault {
            message: error.message().to_owned(),
            span: error.span(),
            help: error.help().map(str::to_owned),
        }),
        Format::Json => json::parse(bytes).map_err(|error| Fault {
            message: error.message,
            span: error.span,
            help: error.help,
        }),
        Format::JsonAsHcl => json::parse(bytes).map_err(|error| Fault {
            message: error.message,
            span: error.span,
            help: Some(match error.help {
                Some(help) => format!("{help} ({AS_JSON})"),
                None => AS_JSON.to_owned(),
            }),
        }),
    }
}

/// Keeps the last entry of a key that an object has several times (docs/configuration.md#json). The others
/// are hardly meant to be without effect, so a warning is reported.
fn keep_last(body: &mut Body, source: &Arc<SourceText>, sink: &Sink) {
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, item) in body.items.iter().enumerate() {
        for key in &item.keys {
            last.insert(&key.text, at);
        }
    }
    if last.len() < body.items.len() {
        let kept: Vec<bool> = body
            .items
            .iter()
            .enumerate()
            .map(|(at, item)| {
                item.keys
                    .iter()
                    .all(|key| last.get(&*key.text) == Some(&at))
            })
            .collect();
        for (item, _) in body.items.iter().zip(&kept).filter(|(_, kept)| !**kept) {
            for key in &item.keys {
                let message = "this key is given again below, and only the last one counts";
                sink.warning(&SourceLocation::new(source, key.span.clone()), message);
            }
        }
        let mut kept = kept.into_iter();
        body.items.retain(|_| kept.next().unwrap_or(true));
    }
    for item in &mut body.items {
        keep_last_within(&mut item.value, source, sink);
    }
}

fn keep_last_within(value: &mut Value, source: &Arc<SourceText>, sink: &Sink) {
    match &mut value.kind {
        ValueKind::Object(body) => keep_last(body, source, sink),
        ValueKind::List(values) => {
            for value in values {
                keep_last_within(value, source, sink);
            }
        }
        ValueKind::String(_) | ValueKind::Number(_) | ValueKind::Bool(_) | ValueKind::Null => {}
    }
}

pub(super) fn ends_with(name: &OsStr, suffix: &str) -> bool {
    name.as_encoded_bytes().ends_with(suffix.as_bytes())
}
