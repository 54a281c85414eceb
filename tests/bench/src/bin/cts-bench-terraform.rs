//! The executable that cts runs as `terraform` during a benchmark: notes the moment and becomes the real one.
//!
//! An executable of its own, because it must start fast: the time until it runs counts as cts's. Its files are
//! in the directory of the name that it was invoked as: `real` (Terraform) and `starts`, to which every start
//! adds a line of nanoseconds (monotonic clock), process id and first argument.

use std::ffi::{CString, OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// As shells report a command that cannot be started.
const EXIT_NOT_STARTED: u8 = 126;

fn main() -> ExitCode {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from);
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let Err(error) = now
        .map_err(io::Error::from)
        .and_then(|now| become_terraform(now, arguments));
    drop(writeln!(io::stderr(), "cts-bench-terraform: {error}"));
    ExitCode::from(EXIT_NOT_STARTED)
}

/// Returns only if that fails.
fn become_terraform(
    now: Duration,
    arguments: Vec<OsString>,
) -> io::Result<std::convert::Infallible> {
    let called_as = arguments.first().map(PathBuf::from).unwrap_or_default();
    let directory = called_as.parent().unwrap_or(Path::new(""));
    let step = arguments.get(1).map_or(OsStr::new(""), OsString::as_os_str);
    let line = format!(
        "{} {} {}\n",
        now.as_nanos(),
        std::process::id(),
        step.display()
    );
    // A single write, so that lines of processes that start together do not mix.
    OpenOptions::new()
        .append(true)
        .open(directory.join("starts"))?
        .write_all(line.as_bytes())?;
    let program = c_string(directory.join("real").into_os_string())?;
    let arguments = arguments
        .into_iter()
        .map(c_string)
        .collect::<io::Result<Vec<_>>>()?;
    Ok(nix::unistd::execv(&program, &arguments)?)
}

fn c_string(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec()).map_err(io::Error::other)
}
