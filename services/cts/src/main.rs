//! Everything in one executable: `cts start`, and each service alone.

use std::process::ExitCode;

fn main() -> ExitCode {
    cts::run_program()
}
