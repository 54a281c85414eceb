//! Paths of the executables under test.

use std::path::{Path, PathBuf};

/// The executable `name` of the same build as the running test: `target/<profile>/<name>`.
pub fn executable(name: &str) -> PathBuf {
    let running = std::env::current_exe().unwrap();
    let directory = running.parent().unwrap();
    // Tests are in `target/<profile>/deps`, other executables in `target/<profile>`.
    let directory = if directory.ends_with("deps") {
        directory.parent().unwrap()
    } else {
        directory
    };
    let path = directory.join(name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build --workspace --bins` first, as scripts/test does",
        path.display()
    );
    path
}

/// A link of this name to `cts`, in `directory`; the name decides what the program does.
pub fn link(directory: &Path, name: &str) -> PathBuf {
    let link = directory.join(name);
    if !link.exists() {
        std::os::unix::fs::symlink(executable("cts"), &link).unwrap();
    }
    link
}
