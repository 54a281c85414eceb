//! The scheduler alone; the same as `cts scheduler`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cts::run_program(cts::Program::Scheduler)
}
