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
use crate::blocks::driver::release::{decode_engine, decode_source, decode_version};
use crate::blocks::driver::version::ExactVersion;
use crate::blocks::environment::Environment;
use crate::blocks::required_providers::decode_required;
use crate::blocks::terraform_cloud::{TerraformCloudDriver, decode_terraform_cloud};
use crate::blocks::timeouts::decode_timeouts;
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::location::Located;

pub use release::ReleaseSource;
pub use sharing::BackendRefusal;

/// How Terraform is run.
#[derive(Clone, Debug)]
pub struct TerraformDriver {
    /// The program that applies modules; cts-only.
    pub engine: EngineKind,
    /// Exact version of the engine, in the form in which it writes its own; `None` for the installed one, or
    /// the newest one that is tested.
    pub version: Option<String>,
    /// Absolute directory that holds or receives the executable; `None` for the default places.
    pub path: Option<PathBuf>,
    /// Where an engine that is not installed comes from; cts-only.
    pub releases: ReleaseSource,
    /// Whether Terraform's output goes into our log.
    pub log: bool,
    /// Whether Terraform writes a trace log into the task directory.
    pub persist_log: bool,
    /// How long each step of Terraform may take, cts-only, from 1 s to 30 days; `init` half an hour by
    /// default, `plan` and `apply` a day. A task can override it.
    pub timeouts: StepTimeouts,
    /// How many operations `plan` and `apply` do at once, 10 by default; cts-only.
    pub parallelism: u32,
    /// Whether `plan` and `apply` bring the state up to date with reality first; cts-only.
    pub refresh: bool,
    /// How long `plan` and `apply` wait for the lock of the state, up to a day; cts-only. `None` for no
    /// longer than they must.
    pub lock_timeout: Option<Duration>,
    /// State backend, for `consul` with its defaults (docs/configuration.md#driver-terraform).
    pub backend: Backend,
    /// Names of the arguments of the backend that only the `consul` block sets, which each host has for
    /// itself.
    pub backend_defaults: Vec<String>,
    /// The backend that had the states before, cts-only, for workers to move them from
    /// (docs/terraform.md#moving-a-state). For `consul` with the same defaults.
    pub previous_backend: Option<Backend>,
    /// Whether the state of backend `local` is on storage that all workers share; cts-only.
    pub shared_local_backend: bool,
    /// Whether the lock of a state that a lost attempt at the same task has left is released; cts-only.
    pub release_lost_locks: bool,
    /// Provider name to version constraint or object, as written.
    pub required_providers: Map<String, Value>,
}

/// The first Terraform whose backend `pg` works with the workspaces of tasks (docs/configuration.md#driver-terraform).
const FIRST_WITH_PG: [u64; 3] = [0, 14, 0];

/// Operations at once if the file sets none, as in Terraform.
const PARALLELISM: u32 = 10;

const LOCK_TIMEOUTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(24);

/// Reads `driver`, which may be absent. If a driver of the other kind is configured, the first one has its
/// defaults.
pub(crate) fn decode_driver(
    driver: Option<Block<'_>>,
    consul: &ConsulConfig,
    environment: Environment<'_>,
    current_dir: &Path,
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
        Some(block) => decode_terraform(block, consul, current_dir),
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
            engine: EngineKind::default(),
            version: None,
            path: None,
            releases: ReleaseSource::default(),
            log: false,
            persist_log: false,
            timeouts: StepTimeouts::default(),
            parallelism: PARALLELISM,
            refresh: true,
            lock_timeout: None,
            backend_defaults: defaults(&Map::new(), consul),
            backend: backend::default_backend(consul),
            previous_backend: None,
            shared_local_backend: false,
            release_lost_locks: false,
            required_providers: Map::new(),
        }
    }
}

fn decode_terraform(
    mut block: Block<'_>,
    consul: &ConsulConfig,
    current_dir: &Path,
) -> TerraformDriver {
    let engine = decode_engine(&mut block);
    let version = decode_version(&mut block, engine);
    let path = block.path("path", current_dir);
    block.removed(
        "working_dir",
        "it was removed in 0.5: use `working_dir` at the top level or in a task",
    );
    let (backend, backend_defaults) = decode_backend(block.united("backend"), consul);
    let previous_backend = decode_previous_backend(block.united("previous_backend"), consul);
    warn_of_old_terraform(&block, version.as_ref(), &backend);
    let driver = TerraformDriver {
        engine,
        version: version.map(|version| version.value.to_string()),
        path,
        releases: decode_source(&mut block, current_dir),
        log: block.flag("log").unwrap_or(false),
        persist_log: block.flag("persist_log").unwrap_or(false),
        timeouts: decode_timeouts(&mut block),
        parallelism: block
            .number_within("parallelism", &(1..=256))
            .unwrap_or(PARALLELISM),
        refresh: block.flag("refresh").unwrap_or(true),
        lock_timeout: block.duration_within("lock_timeout", &LOCK_TIMEOUTS),
        shared_local_backend: decode_shared(&mut block, &backend),
        release_lost_locks: block.flag("release_lost_locks").unwrap_or(false),
        backend,
        backend_defaults,
        previous_backend,
        required_providers: decode_required(block.united("required_providers")),
    };
    block.finish();
    driver
}

/// No error: a binary of another version may be there already, and is used then.
fn warn_of_old_terraform(
    block: &Block<'_>,
    version: Option<&Located<ExactVersion>>,
    backend: &Backend,
) {
    if let Some(version) = version
        && backend.kind == "pg"
        && version.value.is_before(&FIRST_WITH_PG)
    {
        let message = "backend `pg` needs Terraform 0.14.0 or later";
        block.sink().warning(&version.place, message);
    }
}

/// Tasks run in a named workspace, of which backend `local` keeps the state below `workspace_dir`; its
/// `path` means nothing there (docs/terraform.md#state).
fn decode_shared(block: &mut Block<'_>, backend: &Backend) -> bool {
    let Some(written) = block.take("shared_local_backend", coerce::flag) else {
        return false;
    };
    if !written.value {
        return false;
    }
    let directory = backend.arguments.get("workspace_dir");
    let directory = directory.and_then(Value::as_str).map(Path::new);
    if backend.kind != "local" {
        let message = format!(
            "`shared_local_backend` has no effect with backend `{}`",
            backend.kind
        );
        block.sink().warning(&written.place, message);
    } else if !directory.is_some_and(Path::is_absolute) {
        let message = "without an absolute `workspace_dir` the state of backend `local` is in the task's directory, \
                       which every worker has for itself";
        block.sink().warning(&written.place, message);
    }
    true
}
