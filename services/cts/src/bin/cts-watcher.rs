//! The watcher alone; the same as `cts watcher`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cts::run_program(cts::Program::Watcher)
}
