//! The gateway alone; the same as `cts gateway`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cts::run_program(cts::Program::Gateway)
}
