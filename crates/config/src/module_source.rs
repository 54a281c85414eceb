//! Where a task's module comes from, and the digest of a local one.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use cts_core::Digest;

use crate::place::Located;
use crate::sink::Sink;

/// Never part of a module: what Terraform and version control put beside it.
const SKIPPED: [&str; 2] = [".terraform", ".git"];

/// Resolves `.` and `..` by the text alone; symbolic links are not looked at.
pub(crate) fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                cleaned.push(component);
            }
        }
    }
    cleaned
}

/// Resolves the modules of a configuration, each local one once.
#[derive(Debug)]
pub(crate) struct ModuleSources<'a> {
    current_dir: &'a Path,
    working_dir: &'a Path,
    sink: &'a Sink,
    digests: HashMap<PathBuf, Result<Digest, String>>,
}

impl<'a> ModuleSources<'a> {
    /// What lies below `working_dir` is left out of digests: a module beside the task directories
    /// would otherwise change with every run.
    pub(crate) fn new(current_dir: &'a Path, working_dir: &'a Path, sink: &'a Sink) -> Self {
        Self {
            current_dir,
            working_dir,
            sink,
            digests: HashMap::new(),
        }
    }

    /// The source as Terraform gets it, and the digest of a local module's files.
    pub(crate) fn resolve(&mut self, module: &Located<String>) -> (String, Option<Digest>) {
        let written = &module.value;
        let relative = written.starts_with("./") || written.starts_with("../");
        if !relative && !Path::new(written).is_absolute() {
            return (written.clone(), None);
        }
        let path = clean(&self.current_dir.join(written));
        let digest = self
            .digests
            .entry(path.clone())
            .or_insert_with(|| digest_of(&path, self.working_dir));
        let digest = match digest {
            Ok(digest) => Some(*digest),
            Err(reason) => {
                self.sink.error(&module.place, reason.as_str());
                None
            }
        };
        let Some(source) = path.to_str() else {
            let message = "the path of the module is not valid UTF-8, which Terraform needs";
            self.sink.error(&module.place, message);
            return (written.clone(), digest);
        };
        (source.to_owned(), digest)
    }
}

fn digest_of(path: &Path, working_dir: &Path) -> Result<Digest, String> {
    let shown = path.display();
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("module directory {shown} does not exist"));
        }
        Err(error) => return Err(format!("cannot read module directory {shown}: {error}")),
        Ok(metadata) if !metadata.is_dir() => {
            return Err(format!("module {shown} is no directory"));
        }
        Ok(_) => {}
    }
    let cannot_read = |error: io::Error| format!("cannot read module directory {shown}: {error}");
    if !has_terraform_file(path).map_err(cannot_read)? {
        return Err(format!(
            "module directory {shown} has no .tf or .tf.json file"
        ));
    }
    let mut files = Vec::new();
    let mut visited = HashSet::new();
    collect(path, working_dir, &mut visited, &mut files).map_err(cannot_read)?;
    files.sort_unstable();
    let mut parts = Vec::with_capacity(files.len() * 2);
    for file in files {
        let content = fs::read(&file).map_err(cannot_read)?;
        let relative = file.strip_prefix(path).unwrap_or(&file);
        parts.push(relative.as_os_str().as_encoded_bytes().to_vec());
        parts.push(Digest::of(&content).to_string().into_bytes());
    }
    Ok(Digest::of_parts(parts.iter().map(Vec::as_slice)))
}

fn has_terraform_file(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let suffixed = name.ends_with(b".tf") || name.ends_with(b".tf.json");
        if suffixed && entry.path().is_file() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Collects the files below `directory`. Symbolic links are followed, but no directory is entered
/// twice, so links that form a loop end.
fn collect(
    directory: &Path,
    excluded: &Path,
    visited: &mut HashSet<PathBuf>,
    files: &mut Vec<PathBuf>,
) -> io::Result<()> {
    if !visited.insert(fs::canonicalize(directory)?) {
        return Ok(());
    }
    // Sorted, because which of two links to one directory is entered must not depend on chance.
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        entries.push(entry?.file_name());
    }
    entries.sort_unstable();
    for name in entries {
        if SKIPPED.iter().any(|skipped| name == *skipped) {
            continue;
        }
        let path = directory.join(name);
        // A link to nothing is no part of what Terraform can read.
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.is_dir() && path != excluded {
            collect(&path, excluded, visited, files)?;
        } else if metadata.is_file() {
            files.push(path);
        }
    }
    Ok(())
}
