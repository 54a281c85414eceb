//! The executable that cts runs as `terraform` in the fault suite.

use std::process::ExitCode;

fn main() -> ExitCode {
    cts_faults::terraform::run()
}
