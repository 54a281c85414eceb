//! A copy of a data directory, in which the module has the name of another task.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use cts_core::TaskName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data_files::{
    FINGERPRINT_FILE, LOCK_FILE, MARKER_FILE, PREVIOUS_FILE, WORKSPACE_FILE, is_initialised,
};
use crate::error::FileError;

/// The directory in which Terraform keeps the results of `init`, in the task directory, unless `TF_DATA_DIR`
/// overrides it.
pub(super) const DATA_DIRECTORY: &str = ".terraform";

/// A copy that is not complete.
const STAGED: &str = ".terraform.cts-new";

const MODULES: &str = "modules";
const MANIFEST: &str = "modules.json";

/// Directories with the executables of providers, which take most of the space. Terraform replaces these files and
/// never writes into them, so that copies can share the files.
const PROVIDERS: [&str; 2] = ["providers", "plugins"];

/// The installed modules and their directories.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    #[serde(rename = "Modules")]
    modules: Vec<Module>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Module {
    /// Labels of the `module` blocks that lead to the module, joined with dots.
    #[serde(rename = "Key")]
    key: String,
    #[serde(rename = "Dir")]
    directory: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Copies the results of `init` from the directory of one task into the directory of another task, which has no
/// results; returns false if the source has nothing to copy.
pub(super) fn copy(
    (source, from): (&Path, &TaskName),
    (target, to): (&Path, &TaskName),
) -> Result<bool, FileError> {
    let data = source.join(DATA_DIRECTORY);
    if !is_initialised(&data) {
        return Ok(false);
    }
    let names = Names {
        from: from.as_str(),
        to: to.as_str(),
    };
    let (staged, lock) = (target.join(STAGED), target.join(LOCK_FILE));
    // Removes the rest of an interrupted copy.
    remove_tree(&staged)?;
    let copied = copy_data(&data, &staged, &names)
        .and_then(|()| copy_if_present(&source.join(LOCK_FILE), &lock))
        .and_then(|()| {
            let place = target.join(DATA_DIRECTORY);
            fs::rename(&staged, &place).map_err(FileError::of("create", &place))
        });
    if copied.is_err() {
        remove_tree(&staged)?;
        crate::directory::remove_if_present(&lock)?;
    }
    copied.map(|()| true)
}

/// The labels of the two tasks' modules.
struct Names<'a> {
    from: &'a str,
    to: &'a str,
}

impl Names<'_> {
    /// The key of a module, or the name of its directory, which begins with a key.
    fn of(&self, key: &str) -> String {
        match key.strip_prefix(self.from) {
            Some(rest) if rest.is_empty() || rest.starts_with('.') => format!("{}{rest}", self.to),
            _ => key.to_owned(),
        }
    }

    /// A directory of the manifest, relative to the task directory or absolute.
    fn of_directory(&self, directory: &str) -> String {
        let modules = format!("{DATA_DIRECTORY}/{MODULES}/");
        match directory.strip_prefix(&modules) {
            None => directory.to_owned(),
            Some(inside) => {
                let (first, rest) = inside.split_at(inside.find('/').unwrap_or(inside.len()));
                format!("{modules}{}{rest}", self.of(first))
            }
        }
    }
}

fn copy_data(from: &Path, to: &Path, names: &Names<'_>) -> Result<(), FileError> {
    each_entry(from, to, |entry, name| {
        if [WORKSPACE_FILE, FINGERPRINT_FILE, MARKER_FILE, PREVIOUS_FILE]
            .iter()
            .any(|own| *name == **own)
        {
            Ok(())
        } else if name == MODULES {
            copy_modules(&entry.path(), &to.join(name), names)
        } else {
            let share = PROVIDERS.iter().any(|providers| *name == **providers);
            copy_entry(entry, &to.join(name), share)
        }
    })
}

fn copy_modules(from: &Path, to: &Path, names: &Names<'_>) -> Result<(), FileError> {
    each_entry(from, to, |entry, name| {
        if name == MANIFEST {
            return copy_manifest(&entry.path(), &to.join(name), names);
        }
        let name = name
            .to_str()
            .map_or_else(|| name.into(), |name| OsString::from(names.of(name)));
        copy_entry(entry, &to.join(name), false)
    })
}

fn copy_manifest(from: &Path, to: &Path, names: &Names<'_>) -> Result<(), FileError> {
    let text = fs::read(from).map_err(FileError::of("read", from))?;
    let renamed = serde_json::from_slice(&text).and_then(|mut manifest: Manifest| {
        for module in &mut manifest.modules {
            module.key = names.of(&module.key);
            module.directory = names.of_directory(&module.directory);
        }
        serde_json::to_vec(&manifest)
    });
    let renamed = renamed.map_err(|error| FileError::of("read", from)(error.into()))?;
    fs::write(to, renamed).map_err(FileError::of("write", to))
}

/// Copies a file, a symbolic link as it is, or a directory; executables are shared if `share` is set.
fn copy_entry(entry: &DirEntry, to: &Path, share: bool) -> Result<(), FileError> {
    let from = entry.path();
    let kind = entry.file_type().map_err(FileError::of("read", &from))?;
    if kind.is_dir() {
        return each_entry(&from, to, |entry, name| {
            copy_entry(entry, &to.join(name), share)
        });
    }
    let copied = if kind.is_symlink() {
        fs::read_link(&from).and_then(|place| symlink(place, to))
    } else if share && is_executable(entry) && fs::hard_link(&from, to).is_ok() {
        Ok(())
    } else {
        fs::copy(&from, to).map(drop)
    };
    copied.map_err(FileError::of("copy", &from))
}

fn is_executable(entry: &DirEntry) -> bool {
    let metadata = entry.metadata();
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Makes the directory `to` and visits the entries of `from`.
fn each_entry(
    from: &Path,
    to: &Path,
    mut visit: impl FnMut(&DirEntry, &OsStr) -> Result<(), FileError>,
) -> Result<(), FileError> {
    fs::create_dir(to).map_err(FileError::of("create", to))?;
    for entry in fs::read_dir(from).map_err(FileError::of("read", from))? {
        let entry = entry.map_err(FileError::of("read", from))?;
        visit(&entry, &entry.file_name())?;
    }
    Ok(())
}

fn copy_if_present(from: &Path, to: &Path) -> Result<(), FileError> {
    match fs::copy(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::of("copy", from)(error))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn remove_tree(path: &Path) -> Result<(), FileError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::of("remove", path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_module_of_the_task_and_what_is_in_it_is_renamed() {
        let names = Names {
            from: "edge",
            to: "core",
        };
        for (key, expected) in [
            ("", ""),
            ("edge", "core"),
            ("edge.child.edge", "core.child.edge"),
            ("edge-2", "edge-2"),
            ("edges.x", "edges.x"),
        ] {
            assert_eq!(names.of(key), expected);
        }
        for (directory, expected) in [
            (".", "."),
            ("/srv/modules/edge", "/srv/modules/edge"),
            (".terraform/modules/edge", ".terraform/modules/core"),
            (
                ".terraform/modules/edge/sub/edge",
                ".terraform/modules/core/sub/edge",
            ),
            (
                ".terraform/modules/edge.child/x",
                ".terraform/modules/core.child/x",
            ),
            (".terraform/modules/edges", ".terraform/modules/edges"),
        ] {
            assert_eq!(names.of_directory(directory), expected);
        }
    }
}
