//! Where the executables under test are.

use std::path::{Path, PathBuf};

/// The executable `name` of the same build as the running test: `target/<profile>/<name>`.
pub fn executable(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    // Tests are in `target/<profile>/deps`.
    let directory = test.parent().and_then(Path::parent).unwrap();
    let path = directory.join(name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build --workspace --bins` first, as scripts/test does",
        path.display()
    );
    path
}
