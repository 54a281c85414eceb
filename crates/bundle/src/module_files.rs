//! Files of a module directory, as an engine reads them.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::path::Path;

use cts_core::blocks::depth;
use hcl::{Body, Expression};
use serde_json::Value;

use crate::references::{MAX_DEPTH, parsed, read_text};

/// Most bytes of a file; a larger file is not read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// A file by its syntax.
pub(crate) enum ModuleFile {
    Hcl(Body),
    Json(Value),
}

/// The files of a directory whose text `is_wanted`; `None` for each that cannot be read or parsed, and for the directory.
pub(crate) fn module_files(
    directory: &Path,
    is_wanted: fn(&str) -> bool,
) -> impl Iterator<Item = Option<ModuleFile>> {
    let entries = fs::read_dir(directory);
    let failed = entries.is_err().then_some(None);
    let files = entries.into_iter().flatten().filter_map(move |entry| {
        let Ok(entry) = entry else { return Some(None) };
        let is_json = syntax(&entry.file_name())?;
        match text_of(&entry) {
            Some(text) if !is_wanted(&text) => None,
            text => Some(text.and_then(|text| parse(&text, is_json))),
        }
    });
    failed.into_iter().chain(files)
}

/// Whether a file is in the JSON syntax; `None` for files that an engine does not read, hidden ones among them.
fn syntax(name: &OsStr) -> Option<bool> {
    let name = name.as_encoded_bytes();
    let is = |ending: &[u8]| name.ends_with(ending);
    let is_json = is(b".tf.json") || is(b".tofu.json");
    let is_read = !name.starts_with(b".") && (is_json || is(b".tf") || is(b".tofu"));
    is_read.then_some(is_json)
}

fn text_of(entry: &DirEntry) -> Option<String> {
    let text = read_text(&entry.path(), MAX_BYTES)?;
    (u64::try_from(text.len()).ok()? < MAX_BYTES).then_some(text)
}

fn parse(text: &str, is_json: bool) -> Option<ModuleFile> {
    if is_json {
        serde_json::from_str(text).ok().map(ModuleFile::Json)
    } else {
        parsed(text).map(ModuleFile::Hcl)
    }
}

/// An expression that a JSON file has as a text.
pub(crate) fn expression(text: &str) -> Option<Expression> {
    let is_flat = depth(text) <= MAX_DEPTH;
    is_flat.then(|| text.parse().ok()).flatten()
}
