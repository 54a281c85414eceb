//! Directories in which tasks work. They hold what Terraform knows of a task, also its secrets, so that no task of the
//! API may use them as modules (docs/configuration.md#module-roots).

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use cts_bundle::Roots;
use cts_core::GENERATED_NOTICE;

/// Directories of tasks: the known ones, and those in which cts has written `main.tf`.
#[derive(Debug, Clone)]
pub(crate) struct TaskDirectories {
    known: Roots,
}

impl TaskDirectories {
    /// Takes known directories, absolute paths; they need not exist.
    pub(crate) fn new(known: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            known: Roots::new(known),
        }
    }

    /// Whether a directory is that of a task, or inside of one, wherever links lead.
    pub(crate) fn hold(&self, directory: &Path) -> bool {
        let real = fs::canonicalize(directory);
        let real = real.as_deref().unwrap_or(directory);
        self.known.hold(real) || real.ancestors().any(is_generated)
    }
}

/// Whether cts has written the `main.tf` of a directory. Waits for no pipe in its place.
fn is_generated(directory: &Path) -> bool {
    let path = directory.join("main.tf");
    if !fs::metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut begin = Vec::new();
    let length = GENERATED_NOTICE.len() as u64;
    let read = fs::File::open(&path).and_then(|file| file.take(length).read_to_end(&mut begin));
    read.is_ok() && begin == GENERATED_NOTICE.as_bytes()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_of_a_task_holds_everything_below_it() {
        let kept = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(kept.path()).unwrap();
        for path in ["sync/web/.terraform/modules/x", "sync/mine", "own/db/sub"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        let header = format!("{GENERATED_NOTICE}\n# Manual edits\n");
        fs::write(root.join("sync/web/main.tf"), header).unwrap();
        fs::write(root.join("sync/mine/main.tf"), "# Written by cts\n").unwrap();
        symlink("sync/web", root.join("link")).unwrap();
        let directories = TaskDirectories::new([root.join("own/db"), root.join("own/new")]);
        for (path, held) in [
            ("sync/web", true),
            ("sync/web/.terraform/modules/x", true),
            ("link", true),
            ("link/.terraform", true),
            ("own/db", true),
            ("own/db/sub", true),
            ("own/new", true),
            ("own", false),
            ("sync", false),
            ("sync/mine", false),
        ] {
            assert_eq!(directories.hold(&root.join(path)), held, "{path}");
        }
    }
}
