//! The long form of the fault suite, by hand. Build the executables first: `cargo build --workspace --bins`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use cts_faults::{Course, Engine, Extent, Plan, Setup, Shape, Size, run_plan, say};
use cts_tests::Backend;

/// Further tasks that the API may create.
const SPARE: usize = 10;

/// Services that the tasks watch.
const SERVICES: usize = 15;

/// Changes a catalog and tasks while everything fails, and checks the outcome.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seed of the plan; equal seeds make equal plans. Default: a new one each time.
    #[arg(long)]
    seed: Option<u64>,
    /// Length of the trouble.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Instead: so many changes of the catalog and the API, in rounds that end in quiet.
    #[arg(long, conflicts_with = "minutes")]
    changes: Option<usize>,
    /// How cts is put together.
    #[arg(long, value_enum, default_value_t = ShapeArgument::Cluster)]
    shape: ShapeArgument,
    /// Where runs happen. On a server, persons decide about them, and Terraform is the real one.
    #[arg(long, value_enum, default_value_t = DriverArgument::Terraform)]
    driver: DriverArgument,
    /// Which Terraform works. Default: the real one, with `--changes` the stand-in.
    #[arg(long, value_enum)]
    terraform: Option<EngineArgument>,
    /// Place of Terraform's states. Default: chosen by the seed.
    #[arg(long, value_enum)]
    backend: Option<State>,
    /// Runs of a cluster that have ended in the past, and are forgotten after two minutes. Default: 100000.
    #[arg(long)]
    past: Option<u32>,
    /// Clients that follow logs. Default: 8.
    #[arg(long)]
    followers: Option<usize>,
    /// Whether the fleet has a brake, and loses most of its instances now and then. Default: chosen by the seed, off with
    /// an earlier version, which may know no brake.
    #[arg(long, value_enum)]
    brake: Option<Switch>,
    /// Executable of an earlier version: each start of a process is one of it or of this version, by the seed.
    #[arg(long)]
    previous: Option<PathBuf>,
    /// Number of tasks in the configuration.
    #[arg(long, default_value_t = 50)]
    tasks: usize,
    /// How many minutes it may take after the last fault until everything is applied.
    #[arg(long, default_value_t = 30)]
    patience: u64,
    /// Directory in which files are kept when something must not be.
    #[arg(long, default_value = "target/faults")]
    keep: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShapeArgument {
    /// Several of each service, over Postgres.
    Cluster,
    /// One `cts start`, over SQLite.
    Embedded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DriverArgument {
    /// On the workers.
    Terraform,
    /// On a server of HCP Terraform, for which a stub stands.
    TerraformCloud,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum EngineArgument {
    /// The real one.
    Real,
    /// An executable that does the same as the real one with the module of the suite, in milliseconds.
    StandIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// In Consul, as by default; a killed Terraform leaves a lock there for a while.
    Consul,
    /// In a directory.
    Directory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Arguments {
    fn plan(&self, seed: u64) -> Plan {
        let size = Size {
            tasks: self.tasks.max(1),
            spare: SPARE,
            services: SERVICES,
        };
        let shape = match self.shape {
            ShapeArgument::Cluster => Shape::Cluster,
            ShapeArgument::Embedded => Shape::Embedded,
        };
        let engine = match (self.terraform, self.changes) {
            (Some(EngineArgument::Real), _) | (None, None) => Engine::Real,
            (Some(EngineArgument::StandIn), _) | (None, Some(_)) => Engine::StandIn,
        };
        let mut setup = Setup::new(seed, shape, engine);
        match self.backend {
            Some(State::Consul) if engine == Engine::Real => setup.backend = Backend::Consul,
            Some(State::Directory) => setup.backend = Backend::Shared,
            _ => {}
        }
        if shape == Shape::Cluster {
            setup.past = self.past.unwrap_or(setup.past);
        }
        if self.driver == DriverArgument::TerraformCloud {
            setup = setup.on_server();
        }
        setup.followers = self.followers.unwrap_or(setup.followers);
        setup.brake = match self.brake {
            Some(brake) => brake == Switch::On,
            None => setup.brake && self.previous.is_none(),
        };
        let minutes = self.minutes.clamp(0.1, 24.0 * 60.0);
        let time = Duration::from_secs_f64(minutes * 60.0);
        let extent = self.changes.map_or(Extent::Time(time), Extent::Changes);
        Plan::new(seed, size, setup, extent)
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seed = arguments.seed.unwrap_or_else(|| {
        let now = cts_faults::processes::uptime();
        cts_faults::Random::new(now ^ u64::from(std::process::id())).between(1, 999_999)
    });
    drop(std::fs::create_dir_all(&arguments.keep));
    let course = Course {
        keep: arguments.keep.join(format!("seed-{seed}")),
        settle_limit: Duration::from_mins(arguments.patience),
        previous: arguments.previous.clone(),
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("error: no runtime: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let report = runtime.block_on(run_plan(&arguments.plan(seed), &course));
    say(&report.to_string());
    if report.violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
