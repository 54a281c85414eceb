//! Finds the configuration files (docs/configuration.md#files).

mod read;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use self::read::ends_with;
pub(crate) use self::read::read_bytes;

use crate::decode::tree::ParsedFile;
use crate::report::original::ProblemKind;
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;

/// Reads everything below `paths`, in order. Returns the files that were found, and the contents of the ones
/// that could be parsed.
pub(crate) fn read_all(paths: &[PathBuf], sink: &Sink) -> (Vec<PathBuf>, Vec<ParsedFile>) {
    let mut found = Vec::new();
    for path in paths {
        if let Err(error) = find(path, &mut found, sink) {
            refuse(path, &error, sink);
        }
    }
    let mut files = Vec::new();
    for (order, path) in found.iter().enumerate() {
        files.extend(read::read(path, order, sink));
    }
    (found, files)
}

/// Adds the file, or the files of the directory, at `path`.
///
/// A file that is not a configuration file by its name is skipped: with a warning if it was named, without
/// one in a directory, where it may well have a different purpose.
fn find(path: &Path, found: &mut Vec<PathBuf>, sink: &Sink) -> io::Result<()> {
    let place = sink.current_dir.join(path);
    let metadata = fs::metadata(&place)?;
    let shown = path.display();
    if metadata.is_file() {
        if !path.file_name().is_some_and(is_configuration) {
            sink.warning_outside(format!(
                "{shown} is ignored: invalid file format, its name ends neither in .hcl nor in .json"
            ));
        } else if metadata.len() == 0 {
            sink.warning_outside(format!("{shown} is ignored: it is empty"));
        } else {
            found.push(path.to_owned());
        }
        return Ok(());
    }
    if !metadata.is_dir() {
        return Err(unknown_type());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&place)? {
        names.push(entry?.file_name());
    }
    names.retain(|name| is_configuration(name));
    names.sort_by(|a, b| a.as_encoded_bytes().cmp(b.as_encoded_bytes()));
    for name in names {
        match fs::metadata(place.join(&name)) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(metadata) if metadata.is_file() => found.push(path.join(name)),
            Ok(_) => refuse(&path.join(name), &unknown_type(), sink),
            Err(error) => refuse(&path.join(name), &error, sink),
        }
    }
    Ok(())
}

/// Opening a pipe or a device may block for ever.
fn unknown_type() -> io::Error {
    io::Error::other("unknown filetype, neither file nor directory")
}

/// Reports a path that cannot be read.
fn refuse(path: &Path, error: &io::Error, sink: &Sink) {
    let shown = path.display();
    if error.kind() != ErrorKind::NotFound {
        sink.error_outside(format!("cannot read {shown}: {error}"));
        return;
    }
    let message = format!("cannot read {shown}: there is no such file or directory");
    sink.error_outside_with_help(message, near_name(path, &sink.current_dir));
    sink.classify(ProblemKind::MissingFile(shown.to_string()));
}

/// The name next to a missing one that was probably meant.
fn near_name(path: &Path, current_dir: &Path) -> Option<String> {
    // Only a suggestion, for which no large directory is read through.
    const MOST: usize = 1000;
    let missing = path.file_name()?.to_str()?;
    let beside = current_dir.join(path.parent()?);
    let entries = fs::read_dir(beside).ok()?.take(MOST);
    let names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    suggestion(missing, &names)
}

fn is_configuration(name: &OsStr) -> bool {
    ends_with(name, ".hcl") || ends_with(name, ".json")
}
