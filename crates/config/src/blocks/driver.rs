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
use crate::blocks::driver::release::{decode_engine, decode_keys, decode_url, decode_version};
use crate::blocks::environment::Environment;
use crate::blocks::required_providers::decode_required;
use crate::blocks::terraform_cloud::{TerraformCloudDriver, decode_terraform_cloud};
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::dump_values::path;
use crate::keys::{Keyed, Keys, read, unless_empty};
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

/// Bounds of the time limit for one step of Terraform.
pub(crate) const STEP_TIMEOUTS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_hours(30 * 24);

const LOCK_TIMEOUTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_hours(24);

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

/// The backends are read first, because other keys depend on them.
fn decode_terraform(mut block: Block<'_>, consul: &ConsulConfig) -> TerraformDriver {
    block.removed(
        "working_dir",
        "it was removed in 0.5: use `working_dir` at the top level or in a task",
    );
    let mut driver = TerraformDriver::absent(consul);
    (driver.backend, driver.backend_defaults) = decode_backend(block.united("backend"), consul);
    driver.previous_backend = decode_previous_backend(block.united("previous_backend"), consul);
    read(driver, block)
}

impl Keyed for TerraformDriver {
    fn keys(&mut self, keys: &mut Keys<'_, '_>) {
        let backend = &self.backend;
        keys.key("engine", &mut self.engine, decode_engine, |engine| {
            Some(engine.driver())
        });
        let version = |block: &mut Block<'_>, name| {
            let version = decode_version(block, name, self.engine)?;
            if backend.kind == "pg" && version.value.is_before(&FIRST_WITH_PG) {
                // No error: a binary of another version may be there already, and is used then.
                let message = "backend `pg` needs Terraform 0.14.0 or later";
                block.sink().warning(&version.place, message);
            }
            Some(version.map(|version| version.to_string()))
        };
        keys.optional("version", &mut self.version, version, String::clone)
            .or_note("any that is supported");
        keys.path("path", &mut self.path)
            .or_note("the current directory, then PATH, then the working directory");
        let releases = &mut self.releases;
        keys.optional("releases_url", &mut releases.url, decode_url, String::clone)
            .or_note("the site of the vendor");
        keys.key("release_keys", &mut releases.keys, decode_keys, |keys| {
            unless_empty(keys, |key| path(key))
        });
        keys.flag("log", &mut self.log);
        keys.flag("persist_log", &mut self.persist_log);
        let timeouts = &mut self.timeouts;
        keys.duration("init_timeout", &mut timeouts.init, &STEP_TIMEOUTS);
        keys.duration("plan_timeout", &mut timeouts.plan, &STEP_TIMEOUTS);
        keys.duration("apply_timeout", &mut timeouts.apply, &STEP_TIMEOUTS);
        keys.number("parallelism", &mut self.parallelism, &(1..=256));
        keys.flag("refresh", &mut self.refresh);
        keys.optional_duration("lock_timeout", &mut self.lock_timeout, &LOCK_TIMEOUTS)
            .or_note("no longer than is needed");
        let shared = |block: &mut Block<'_>, name| decode_shared(block, name, backend);
        keys.key(
            "shared_local_backend",
            &mut self.shared_local_backend,
            shared,
            |shared| Some(*shared),
        );
        keys.flag("release_lost_locks", &mut self.release_lost_locks);
        keys.backend("backend", Some(backend));
        keys.backend("previous_backend", self.previous_backend.as_ref());
        keys.block_of(
            "required_providers",
            &mut self.required_providers,
            decode_required,
            |required| Some(required.clone().into()),
        );
    }
}

/// Tasks run in a named workspace, of which backend `local` keeps the state below `workspace_dir`; its
/// `path` means nothing there (docs/terraform.md#state).
fn decode_shared(
    block: &mut Block<'_>,
    name: &'static str,
    backend: &Backend,
) -> Option<Located<bool>> {
    let written = block.take(name, coerce::flag)?;
    if !written.value {
        return Some(written);
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
    Some(written)
}
