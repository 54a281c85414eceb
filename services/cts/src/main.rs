//! Everything in one executable: `cts start`, and each service alone.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// One arena for all threads, which returns memory to the system: `.cargo/config.toml` has its settings.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    cts::run_program()
}
