//! The long form of the fault suite, by hand. Build the executables first: `cargo build --workspace --bins`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use cts_faults::{Course, Plan, Size, carry_out, say};
use cts_tests::Backend;

/// Changes a catalog while it kills, stops and restarts every process of a cluster, and checks what came of it.
#[derive(Debug, Parser)]
struct Arguments {
    /// The same seed makes the same plan. Default: another one each time.
    #[arg(long)]
    seed: Option<u64>,
    /// Length of the trouble.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Number of tasks.
    #[arg(long, default_value_t = 50)]
    tasks: usize,
    /// Number of services that they watch.
    #[arg(long, default_value_t = 15)]
    services: usize,
    /// Where Terraform keeps its state.
    #[arg(long, value_enum, default_value_t = State::Consul)]
    backend: State,
    /// How many minutes it may take after the last fault until everything is applied.
    #[arg(long, default_value_t = 30)]
    patience: u64,
    /// Directory in which files are kept when something must not be.
    #[arg(long, default_value = "target/faults")]
    keep: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// In Consul, as by default; a killed Terraform leaves a lock there for a while.
    Consul,
    /// In a directory.
    Directory,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| {
        let now = cts_faults::sightings::uptime();
        cts_faults::Random::new(now ^ u64::from(std::process::id())).between(1, 999_999)
    });
    let size = Size {
        tasks: arguments.tasks.max(1),
        services: arguments.services.max(1),
        length: Duration::from_secs_f64(arguments.minutes.clamp(0.1, 24.0 * 60.0) * 60.0),
    };
    let keep = arguments.keep.join(format!("seed-{seed}"));
    drop(std::fs::create_dir_all(&arguments.keep));
    let course = Course {
        backend: match arguments.backend {
            State::Consul => Backend::Consul,
            State::Directory => Backend::Shared,
        },
        keep,
        patience: Duration::from_mins(arguments.patience),
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("error: no runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let report = runtime.block_on(carry_out(&Plan::new(seed, size), &course));
    say(&report.to_string());
    if report.violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
