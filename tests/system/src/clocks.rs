//! Wall clocks of processes that jump, by a library that is loaded before all others.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::site::Site;

const SOURCE: &str = include_str!("clock.c");
const DIRECTORY: &str = "clocks";
/// A service hides variables whose names begin with `CTS_` from its next execution.
const VARIABLE: &str = "TEST_CLOCK";

/// Builds the library for all processes that are started in the site from now on. Each of those with these names, which
/// are those of their logs without the ending, has a clock of its own.
pub async fn install_clocks(site: &mut Site, names: &[String]) {
    let directory = site.path().join(DIRECTORY);
    fs::create_dir(&directory).unwrap();
    for name in names {
        fs::write(file(site.path(), name), 0_i64.to_ne_bytes()).unwrap();
    }
    let (source, library) = (directory.join("clock.c"), directory.join("clock.so"));
    fs::write(&source, SOURCE).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
    let built = compiler.arg(&library).arg(&source).status().await.unwrap();
    assert!(built.success(), "the C compiler ends with {built}");
    site.set_clocks(&library, VARIABLE, &directory);
}

/// Sets the clock of a process of the site at this path ahead by `seconds`, or back if the number is negative.
///
/// # Errors
///
/// No process of this name has a clock.
pub fn set_clock(site: &Path, name: &str, seconds: i64) -> io::Result<()> {
    let file: File = OpenOptions::new().write(true).open(file(site, name))?;
    file.write_all_at(&seconds.to_ne_bytes(), 0)
}

/// The library, and the file of a process of the site at this path, which its environment names.
pub fn clock_files(site: &Path, name: &str) -> [(&'static str, PathBuf); 2] {
    let library = site.join(DIRECTORY).join("clock.so");
    [("LD_PRELOAD", library), (VARIABLE, file(site, name))]
}

fn file(site: &Path, name: &str) -> PathBuf {
    site.join(DIRECTORY).join(name)
}
