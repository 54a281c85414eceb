//! The worker alone; the same as `cts worker`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cts::run_program(cts::Program::Worker)
}
