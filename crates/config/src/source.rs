//! Finds and reads the configuration files (spec/config.md 1.2).

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::mask::{mask_text, mask_tree};
use crate::place::{Place, SourceText};
use crate::sink::Sink;
use crate::tree::ParsedFile;

/// Reads everything below `paths`, in order. Returns how many files were found beside those that
/// could be parsed.
pub(crate) fn read_all(
    paths: &[PathBuf],
    current_dir: &Path,
    sink: &Sink,
) -> (usize, Vec<ParsedFile>) {
    let mut found = Vec::new();
    for path in paths {
        if let Err(error) = find(path, current_dir, &mut found, sink) {
            sink.error_outside(format!("cannot read {}: {error}", path.display()));
        }
    }
    let count = found.len();
    let mut files = Vec::new();
    for (order, path) in found.iter().enumerate() {
        files.extend(read(path, order, current_dir, sink));
    }
    (count, files)
}

fn find(path: &Path, current_dir: &Path, found: &mut Vec<PathBuf>, sink: &Sink) -> io::Result<()> {
    let place = current_dir.join(path);
    let metadata = fs::metadata(&place)?;
    if metadata.is_file() {
        if !is_hcl(path) && !is_json(path) {
            let name = path.display();
            sink.warning_outside(format!(
                "{name} is ignored: its name ends neither in .hcl nor in .json"
            ));
        } else if metadata.len() == 0 {
            sink.warning_outside(format!("{} is ignored: it is empty", path.display()));
        } else {
            found.push(path.to_owned());
        }
        return Ok(());
    }
    if !metadata.is_dir() {
        return Err(io::Error::other(
            "unknown filetype, neither file nor directory",
        ));
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&place)? {
        names.push(entry?.file_name());
    }
    names.sort_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    for name in names {
        let suffixed = ends_with(&name, ".hcl") || ends_with(&name, ".json");
        if suffixed && !fs::metadata(place.join(&name))?.is_dir() {
            found.push(path.join(name));
        }
    }
    Ok(())
}

fn read(path: &Path, order: usize, current_dir: &Path, sink: &Sink) -> Option<ParsedFile> {
    let name = path.display().to_string();
    let mut bytes = match fs::read(current_dir.join(path)) {
        Ok(bytes) => bytes,
        Err(error) => {
            sink.error_outside(format!("cannot read {name}: {error}"));
            return None;
        }
    };
    if path
        .file_name()
        .is_some_and(|name| ends_with(name, ".json"))
    {
        sink.error_outside(format!("{name}: JSON configuration is not supported yet"));
        return None;
    }
    match cts_hcl1::parse(&bytes) {
        Ok(body) => {
            mask_tree(&mut bytes, &body);
            let source = Arc::new(SourceText::new(name, order, &bytes));
            Some(ParsedFile { source, body })
        }
        Err(error) => {
            let span = error.span();
            let before = bytes.clone();
            mask_text(&mut bytes);
            let source = Arc::new(SourceText::new(name, order, &bytes));
            let place = Place::new(&source, span.clone());
            if before.get(span.clone()) == bytes.get(span) {
                sink.error_with_help(&place, error.message(), error.help().map(str::to_owned));
            } else {
                // The parser quotes what it stumbled over, and here that is part of a secret.
                sink.error(&place, "syntax error in a value that is not shown");
            }
            None
        }
    }
}

fn ends_with(name: &OsStr, suffix: &str) -> bool {
    name.as_encoded_bytes().ends_with(suffix.as_bytes())
}

fn is_hcl(path: &Path) -> bool {
    path.file_name().is_some_and(|name| ends_with(name, ".hcl"))
}

fn is_json(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| ends_with(name, ".json"))
}
