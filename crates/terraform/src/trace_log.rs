//! The trace that Terraform writes with `persist_log` (docs/terraform.md#the-task-directory). Terraform only
//! appends to it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::directory::TaskDirectory;
use crate::error::FileError;

/// Its name in the directory of the task.
pub(crate) const FILE: &str = "terraform.log";

/// A run that finds a trace with more than this many bytes begins a new trace. A single run may write more.
const LARGEST: u64 = 10 * 1024 * 1024;

/// Most earlier traces that are kept: `terraform.log.1` is the newest of them.
const KEPT: u32 = 5;

impl TaskDirectory {
    /// Puts aside a trace that has become too large, and removes the oldest. Must be called between runs.
    pub fn rotate_trace(&self) -> Result<(), FileError> {
        self.rotate_trace_beyond(LARGEST)
    }

    fn rotate_trace_beyond(&self, largest: u64) -> Result<(), FileError> {
        let current = self.path().join(FILE);
        match fs::symlink_metadata(&current) {
            Ok(metadata) if metadata.is_file() && metadata.len() > largest => {}
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(FileError::of("read", &current)(error)),
        }
        for number in (1..KEPT).rev() {
            self.rename_trace(&self.earlier_trace(number), number + 1)?;
        }
        self.rename_trace(&current, 1)
    }

    fn earlier_trace(&self, number: u32) -> PathBuf {
        self.path().join(format!("{FILE}.{number}"))
    }

    fn rename_trace(&self, from: &Path, number: u32) -> Result<(), FileError> {
        match fs::rename(from, self.earlier_trace(number)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(FileError::of("rename", from)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(directory: &TaskDirectory) -> Vec<(String, String)> {
        let entries = fs::read_dir(directory.path()).unwrap();
        let mut traces: Vec<_> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                (name, fs::read_to_string(path).unwrap())
            })
            .collect();
        traces.sort_unstable();
        traces
    }

    #[test]
    fn the_newest_traces_are_kept_and_small_ones_stay() {
        let root = tempfile::tempdir().unwrap();
        let directory = TaskDirectory::new(root.path(), root.path());
        directory.rotate_trace_beyond(3).unwrap();
        for number in 1..=8 {
            fs::write(root.path().join(FILE), format!("run {number}")).unwrap();
            directory.rotate_trace_beyond(3).unwrap();
        }
        fs::write(root.path().join(FILE), "few").unwrap();
        directory.rotate_trace_beyond(3).unwrap();
        let expected = [
            ("terraform.log", "few"),
            ("terraform.log.1", "run 8"),
            ("terraform.log.2", "run 7"),
            ("terraform.log.3", "run 6"),
            ("terraform.log.4", "run 5"),
            ("terraform.log.5", "run 4"),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(traces(&directory), expected);
    }

    #[test]
    fn rotation_leaves_a_directory_alone() {
        let root = tempfile::tempdir().unwrap();
        let directory = TaskDirectory::new(root.path(), root.path());
        fs::create_dir(root.path().join(FILE)).unwrap();
        directory.rotate_trace_beyond(0).unwrap();
        assert!(root.path().join(FILE).is_dir());
    }
}
