//! Paths that begin like a word.

use std::fs;
use std::path::Path;

use crate::arguments::is_configuration_file;

/// The wanted files. Directories are always included: the path may lead through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Files of configuration.
    Configuration,
    /// No files.
    Directory,
    /// All files.
    Any,
}

/// The entries of the directory that `word` is in; directories end with `/`. Hidden entries are included only if the
/// word has the dot.
pub(super) fn candidates(kind: Kind, word: &str, current_dir: &Path) -> Vec<String> {
    let (directory, beginning) = match word.rfind('/') {
        Some(slash) => word.split_at(slash + 1),
        None => ("", word),
    };
    let entries = fs::read_dir(current_dir.join(directory));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            if name.starts_with('.') && !beginning.starts_with('.') {
                return None;
            }
            if entry.path().is_dir() {
                return Some(format!("{directory}{name}/"));
            }
            let is_wanted = match kind {
                Kind::Configuration => is_configuration_file(Path::new(&name)),
                Kind::Directory => false,
                Kind::Any => true,
            };
            is_wanted.then(|| format!("{directory}{name}"))
        })
        .collect()
}
