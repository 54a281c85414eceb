//! `driver "terraform"` (docs/configuration.md#driver-terraform).

pub(crate) mod backend;
mod release;
mod sharing;
pub(crate) mod version;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_core::{Backend, EngineKind, StepTimeouts};
use serde_json::{Map, Value};

use crate::blocks::consul::ConsulConfig;
use crate::blocks::driver::backend::{decode_backend, decode_previous_backend, defaults};
use crate::blocks::driver::release::decode_engine;
use crate::blocks::driver::version::{ExactVersion, dotted};
use crate::blocks::environment::Environment;
use crate::blocks::terraform_cloud::{TerraformCloudDriver, decode_terraform_cloud};
use crate::decode::block::Block;
use crate::keys::{Keys, read_keys};
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;
use crate::settings::settings;

pub use release::ReleaseSource;
pub use sharing::BackendRefusal;

settings! {
    /// How Terraform is run.
    #[derive(Clone, Debug)]
    pub struct TerraformDriver {
        /// The program that applies modules; cts-only.
        pub engine: EngineKind = EngineKind::default()
            => key(decode_engine, |engine| Some(engine.driver())),
        /// Exact version of the engine, in the form in which it writes its own; `None` for the installed one, or
        /// the newest one that is tested.
        pub version: Option<String> = None => optional_text or "any that is supported",
        /// Absolute directory that holds or receives the executable; `None` for the default places.
        pub path: Option<PathBuf> = None
            => path or "the current directory, then PATH, then the working directory",
        /// Where an engine that is not installed comes from; cts-only.
        pub releases: ReleaseSource = ReleaseSource::default() => releases,
        /// Whether Terraform's output goes into our log.
        pub log: bool = false => flag,
        /// Whether Terraform writes a trace log into the task directory.
        pub persist_log: bool = false => flag,
        /// How long each step of Terraform may take, cts-only, from 1 s to 30 days; `init` half an hour by
        /// default, `plan` and `apply` a day. A task can override it.
        pub timeouts: StepTimeouts = StepTimeouts::default() => step_timeouts,
        /// How many operations `plan` and `apply` do at once, 10 by default, as in Terraform; cts-only.
        pub parallelism: u32 = 10 => number(&(1..=256)),
        /// Whether `plan` and `apply` bring the state up to date with reality first; cts-only.
        pub refresh: bool = true => flag,
        /// How long `plan` and `apply` wait for the lock of the state, up to a day; cts-only. `None` for no
        /// longer than they must.
        pub lock_timeout: Option<Duration> = None
            => optional_duration(&(Duration::ZERO..=Duration::from_hours(24)))
            or "no longer than is needed",
        /// Whether the state of backend `local` is on storage that all workers share; cts-only.
        pub shared_local_backend: bool = false => flag,
        /// Whether the lock of a state that a lost attempt at the same task has left is released; cts-only.
        pub release_lost_locks: bool = false => flag,
        /// State backend, for `consul` with its defaults (docs/configuration.md#driver-terraform).
        pub backend: Backend = Backend { kind: "consul".to_owned(), arguments: Map::new() } => backend,
        /// Names of the arguments of the backend that only the `consul` block sets, which each host has for
        /// itself.
        pub backend_defaults: Vec<String> = Vec::new() => without_key,
        /// The backend that had the states before, cts-only, for workers to move them from
        /// (docs/terraform.md#moving-a-state). For `consul` with the same defaults.
        pub previous_backend: Option<Backend> = None => previous_backend,
        /// Provider name to version constraint or object, as written.
        pub required_providers: Map<String, Value> = Map::new() => required_providers,
    }
}

/// The first Terraform whose backend `pg` works with the workspaces of tasks (docs/configuration.md#driver-terraform).
const FIRST_WITH_PG: [u64; 3] = [0, 14, 0];

/// Bounds of the time limit for one step of Terraform.
pub(crate) const STEP_TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(30 * 24);

/// Reads `driver`, which may be absent. If a driver of the other kind is configured, the first one has its
/// defaults.
pub(crate) fn decode_driver(
    driver: Option<Block<'_>>,
    consul: &ConsulConfig,
    environment: Environment<'_>,
) -> (TerraformDriver, Option<TerraformCloudDriver>) {
    let Some(mut driver) = driver else {
        return (TerraformDriver::absent(consul), None);
    };
    let terraform = driver.block("terraform");
    let cloud = driver.block("terraform-cloud");
    let sink = driver.sink();
    driver.finish();
    if let Some(place) = cloud.as_ref().and_then(Block::place)
        && terraform.is_some()
    {
        let message = "only one driver can be configured, and there is `terraform` as well";
        sink.error(place, message);
    }
    let terraform = match terraform {
        Some(block) => decode_terraform(block, consul),
        None => TerraformDriver::absent(consul),
    };
    let cloud = cloud.and_then(|block| decode_terraform_cloud(block, consul, environment));
    (terraform, cloud)
}

impl TerraformDriver {
    /// Whether states are in the Consul of the `consul` block, without arguments about the way there.
    pub fn keeps_states_in_own_consul(&self) -> bool {
        const OF_STATES: [&str; 3] = ["gzip", "lock", "path"];
        let is_default = |name: &String| {
            OF_STATES.contains(&name.as_str()) || self.backend_defaults.contains(name)
        };
        self.backend.kind == "consul" && self.backend.arguments.keys().all(is_default)
    }

    /// The values that apply without a block.
    fn absent(consul: &ConsulConfig) -> Self {
        Self {
            backend_defaults: defaults(&Map::new(), consul),
            backend: backend::default_backend(consul),
            ..Self::default()
        }
    }
}

/// The backends are read first: the other keys do not know the `consul` block.
fn decode_terraform(mut block: Block<'_>, consul: &ConsulConfig) -> TerraformDriver {
    block.removed(
        "working_dir",
        "it was removed in 0.5: use `working_dir` at the top level or in a task",
    );
    let mut driver = TerraformDriver::absent(consul);
    (driver.backend, driver.backend_defaults) = decode_backend(block.united("backend"), consul);
    driver.previous_backend = decode_previous_backend(block.united("previous_backend"), consul);
    let written = read_keys(&mut driver, &mut block);
    let sink = block.sink();
    block.finish();
    if let Some(place) = written.place("version") {
        driver.version = check_version(&driver, place, sink);
    }
    if let Some(place) = written.place("shared_local_backend") {
        warn_of_useless_sharing(&driver, place, sink);
    }
    driver
}

impl Keys<'_, '_> {
    fn step_timeouts(&mut self, _name: &'static str, timeouts: &mut StepTimeouts) {
        self.duration("init_timeout", &mut timeouts.init, &STEP_TIMEOUTS);
        self.duration("plan_timeout", &mut timeouts.plan, &STEP_TIMEOUTS);
        self.duration("apply_timeout", &mut timeouts.apply, &STEP_TIMEOUTS);
    }
}

/// The version in the form of the engine. A version that is newer than what cts is tested with is a warning.
fn check_version(driver: &TerraformDriver, place: &SourceLocation, sink: &Sink) -> Option<String> {
    let engine = driver.engine;
    let written = Located {
        value: driver.version.as_ref()?,
        place: place.clone(),
    };
    let version = sink
        .checked(written, |text| ExactVersion::read(text, engine))?
        .value;
    if !version.is_tested(engine) {
        let message = format!(
            "cts is not tested with {} {version}, which is newer than {}",
            engine.title(),
            dotted(&engine.newest_tested()),
        );
        sink.warning(place, message);
    }
    if driver.backend.kind == "pg" && version.is_before(&FIRST_WITH_PG) {
        // No error: a binary of another version may be there already, and is used then.
        sink.warning(place, "backend `pg` needs Terraform 0.14.0 or later");
    }
    Some(version.to_string())
}

/// Tasks run in a named workspace, of which backend `local` keeps the state below `workspace_dir`; its
/// `path` means nothing there (docs/terraform.md#state).
fn warn_of_useless_sharing(driver: &TerraformDriver, place: &SourceLocation, sink: &Sink) {
    let backend = &driver.backend;
    if !driver.shared_local_backend {
        return;
    }
    let directory = backend.arguments.get("workspace_dir");
    let directory = directory.and_then(Value::as_str).map(Path::new);
    if backend.kind != "local" {
        let message = format!(
            "`shared_local_backend` has no effect with backend `{}`",
            backend.kind
        );
        sink.warning(place, message);
    } else if !directory.is_some_and(Path::is_absolute) {
        let message = "without an absolute `workspace_dir` the state of backend `local` is in the task's directory, \
                       which every worker has for itself";
        sink.warning(place, message);
    }
}
