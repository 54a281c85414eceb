//! `driver "terraform"` (spec/config.md 9).

mod backend;
mod sharing;
mod version;

use std::path::{Path, PathBuf};

use cts_core::Backend;
use serde_json::{Map, Value};

use crate::block::Block;
use crate::coerce;
use crate::consul::ConsulConfig;
use crate::driver::backend::decode_backend;
use crate::driver::version::check_version;
use crate::free_form::free_form;
use crate::module_source::clean;

pub use sharing::BackendRefusal;

/// How Terraform is run.
#[derive(Clone, Debug)]
pub struct TerraformDriver {
    /// Exact Terraform version as written; `None` for the newest compatible one.
    pub version: Option<String>,
    /// Absolute directory that holds or receives the executable; `None` for the default place.
    pub path: Option<PathBuf>,
    /// Whether Terraform's output goes into our log.
    pub log: bool,
    /// Whether Terraform writes a trace log into the task directory.
    pub persist_log: bool,
    /// State backend, for `consul` with its defaults (spec/config.md 9.3).
    pub backend: Backend,
    /// Ours: whether the state of backend `local` is on storage that all workers share.
    pub shared_local_backend: bool,
    /// Provider name to version constraint or object, as written.
    pub required_providers: Map<String, Value>,
}

/// Reads `driver`, which may be absent.
pub(crate) fn decode_driver(
    driver: Option<Block<'_>>,
    consul: &ConsulConfig,
    current_dir: &Path,
) -> TerraformDriver {
    let terraform = driver.and_then(|mut driver| {
        let terraform = driver.block("terraform");
        driver.unsupported("terraform-cloud");
        driver.finish();
        terraform
    });
    let Some(mut block) = terraform else {
        return TerraformDriver {
            version: None,
            path: None,
            log: false,
            persist_log: false,
            backend: backend::default_backend(consul),
            shared_local_backend: false,
            required_providers: Map::new(),
        };
    };
    let version = block.take("version", coerce::text);
    let version = version
        .filter(|version| !version.value.is_empty())
        .map(|version| {
            if let Err(reason) = check_version(&version.value) {
                block.sink().error(&version.place, reason.to_string());
            }
            version.value
        });
    let path = block.text("path").filter(|path| !path.is_empty());
    let backend = decode_backend(block.united("backend"), consul);
    let driver = TerraformDriver {
        version,
        path: path.map(|path| clean(&current_dir.join(path))),
        log: block.flag("log").unwrap_or(false),
        persist_log: block.flag("persist_log").unwrap_or(false),
        shared_local_backend: decode_shared(&mut block, &backend),
        backend,
        required_providers: decode_required(block.united("required_providers")),
    };
    block.finish();
    driver
}

/// Tasks run in a named workspace, of which backend `local` keeps the state below `workspace_dir`; its
/// `path` means nothing there (spec/runtime-terraform.md 5.5).
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
        let message = "without an absolute `workspace_dir` the state of backend `local` is in the task's                        directory, which every worker has for itself";
        block.sink().warning(&written.place, message);
    }
    true
}

/// An entry replaces an earlier one of the same provider as a whole (spec/config.md 1.8).
fn decode_required(block: Block<'_>) -> Map<String, Value> {
    let sink = block.sink();
    let mut required = Map::new();
    for entry in block.into_entries() {
        let value = free_form(std::slice::from_ref(&entry), sink);
        required.extend(value);
    }
    required
}
