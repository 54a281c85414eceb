//! Copies of directories.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Copies a directory that does not exist yet, without the entries of its top that `leave_out` names.
pub(crate) fn copy_directory(
    from: &Path,
    to: &Path,
    leave_out: impl Fn(&str) -> bool,
) -> Result<()> {
    let keep = |name: &str| !leave_out(name);
    copy(from, to, &keep)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

fn copy(from: &Path, to: &Path, keep: &dyn Fn(&str) -> bool) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !keep(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy(&entry.path(), &target, &|_| true)?;
        } else if kind.is_symlink() {
            // Terraform makes one for a module with an absolute path.
            symlink(fs::read_link(entry.path())?, target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
