//! Where the executables under test are.

use std::path::PathBuf;

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
