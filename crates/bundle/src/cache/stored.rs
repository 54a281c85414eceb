//! The unpacked bundles on disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cts_core::Digest;

use crate::content::ContentHasher;

/// A bundle in the directory of a cache.
#[derive(Debug)]
pub(super) struct StoredBundle {
    pub(super) hash: Digest,
    /// Time of the last use, which is kept as the directory's time of modification.
    pub(super) used: SystemTime,
}

/// Every directory that is named like a bundle.
pub(super) fn stored_bundles(directory: &Path) -> io::Result<Vec<StoredBundle>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut bundles = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let Some(hash) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let used = entry.metadata()?.modified()?;
        bundles.push(StoredBundle { hash, used });
    }
    Ok(bundles)
}

/// The current hash of an unpacked bundle; `None` if the directory has an entry that no bundle can have.
pub(super) fn hash_of_directory(root: &Path) -> io::Result<Option<Digest>> {
    let mut found = BTreeMap::new();
    if !collect(root, root, &mut found)? {
        return Ok(None);
    }
    let mut hasher = ContentHasher::new();
    for (name, (path, is_directory)) in found {
        if is_directory {
            hasher.directory(&name);
        } else {
            let executable = fs::metadata(&path)?.permissions().mode() & 0o100 != 0;
            hasher.file(&name, executable, Digest::of_reader(File::open(&path)?)?);
        }
    }
    Ok(Some(hasher.finish()))
}

/// Whether everything below `directory` is a file or a directory. Links are not followed.
fn collect(
    root: &Path,
    directory: &Path,
    found: &mut BTreeMap<Vec<u8>, (PathBuf, bool)>,
) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if !(kind.is_file() || kind.is_dir()) {
            return Ok(false);
        }
        let inside = path.strip_prefix(root).unwrap_or(&path);
        let name = inside.as_os_str().as_encoded_bytes().to_vec();
        found.insert(name, (path.clone(), kind.is_dir()));
        if kind.is_dir() && !collect(root, &path, found)? {
            return Ok(false);
        }
    }
    Ok(true)
}
