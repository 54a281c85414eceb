//! Modules that are directories.

use std::path::{Path, PathBuf};

use cts_bundle::clean_path;

/// The directory of a local module.
pub(crate) fn local_path(current_dir: &Path, written: &str) -> Option<PathBuf> {
    is_local(written).then(|| clean_path(&current_dir.join(written)))
}

/// Whether the source is a directory.
pub(crate) fn is_local(written: &str) -> bool {
    let relative = written.starts_with("./") || written.starts_with("../");
    relative || Path::new(written).is_absolute()
}
