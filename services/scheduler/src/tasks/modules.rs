//! Local modules on their way to workers that do not share this replica's disk.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use cts_bundle::{Bundle, Limits, ModuleRoots, Packing, pack};
use cts_core::{BundleReference, Chain, TaskDefinition, TaskName, TaskSpec, unusable_module};
use cts_store::{Store, StoreError, StoredTask};

/// How local modules reach workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Modules {
    /// Workers use the directories in place: everything is on one machine.
    InPlace,
    Bundled {
        /// Directories left out of bundles, absolute: a module that contains the task directories would
        /// otherwise change with every run.
        excluded: Vec<PathBuf>,
        /// Directories that modules may be in.
        roots: ModuleRoots,
    },
}

/// The source of a module's name, which decides where the module may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// A configuration file.
    File,
    /// A caller of the API.
    Client,
}

/// Bundles of the packed directories, or why a directory cannot be packed; several tasks may use one.
type Packed = HashMap<PathBuf, Result<BundleReference, String>>;

impl Modules {
    /// Packs and stores the local modules of tasks, and returns the tasks. If a module cannot be packed, the work goes
    /// on: its task keeps its last bundle; without a bundle, the module cannot be used.
    pub async fn pack(
        &self,
        store: &dyn Store,
        tasks: &[TaskSpec],
        stored: &[StoredTask],
        named_by: NamedBy,
    ) -> Result<Vec<TaskSpec>, StoreError> {
        let mut tasks = tasks.to_vec();
        let Self::Bundled { excluded, roots } = self else {
            return Ok(tasks);
        };
        let mut packed = Packed::new();
        for task in &mut tasks {
            let Some(directory) = local_directory(&task.definition) else {
                continue;
            };
            task.requirement.bundle = true;
            let last = last_bundle(task.name(), &directory, stored);
            let was_read = task.definition.module_digest.is_some();
            if !was_read && task.requirement.unusable_module.is_some() {
                if named_by == NamedBy::File && last.is_some() {
                    task.requirement.unusable_module = None;
                    set_bundle(&mut task.definition, last);
                }
                continue;
            }
            let known = if let Some(known) = packed.get(&directory) {
                known.clone()
            } else {
                let packing = Packing {
                    excluded: excluded.clone(),
                    roots: match named_by {
                        NamedBy::File => roots.of_file(&directory),
                        NamedBy::Client => roots.of_api(),
                    },
                    limits: Limits::default(),
                };
                let is_known = stored.iter().any(|known| {
                    known.spec.name() == task.name()
                        && known.spec.requirement.unusable_module.is_some()
                });
                let reference = pack_one(store, &directory, packing).await?;
                if let Err(reason) = &reference
                    && !is_known
                {
                    tracing::error!(target: "ha.compat", module = %directory.display(), error = reason, "a local module cannot be packed for the workers");
                }
                packed.insert(directory.clone(), reference.clone());
                reference
            };
            match known.or_else(|reason| last.ok_or(reason)) {
                Ok(bundle) => set_bundle(&mut task.definition, Some(bundle)),
                Err(reason) => {
                    let reason = match named_by {
                        NamedBy::File => reason,
                        NamedBy::Client => unusable_module(&task.definition.module),
                    };
                    let problem = &mut task.requirement.unusable_module;
                    problem.get_or_insert(reason);
                    set_bundle(&mut task.definition, None);
                }
            }
        }
        Ok(tasks)
    }
}

fn set_bundle(definition: &mut TaskDefinition, bundle: Option<BundleReference>) {
    if let Some(bundle) = &bundle {
        // The directory may have changed since the configuration was read, and Terraform runs on the bundle.
        definition.module_digest = Some(bundle.hash);
    }
    definition.bundle = bundle;
}

/// Directory of a local module, without the double slash that tells Terraform which directories belong together.
fn local_directory(definition: &TaskDefinition) -> Option<PathBuf> {
    let source = Path::new(&definition.module_source);
    source.is_absolute().then(|| source.components().collect())
}

fn last_bundle(
    task: &TaskName,
    directory: &Path,
    stored: &[StoredTask],
) -> Option<BundleReference> {
    let before = stored.iter().find(|before| {
        let definition = &before.spec.definition;
        definition.name == *task && local_directory(definition).as_deref() == Some(directory)
    })?;
    before.spec.definition.bundle.clone()
}

async fn pack_one(
    store: &dyn Store,
    directory: &Path,
    packing: Packing,
) -> Result<Result<BundleReference, String>, StoreError> {
    let bundle = match pack_directory(directory.to_owned(), packing).await {
        Ok(bundle) => bundle,
        Err(error) => {
            let error = Chain(&*error);
            let shown = directory.display();
            return Ok(Err(format!(
                "module directory {shown} cannot be packed for the workers: {error}"
            )));
        }
    };
    if !store.keep_bundles(&[bundle.hash]).await?.is_empty() {
        store.store_bundle(bundle.hash, &bundle.bytes).await?;
    }
    Ok(Ok(BundleReference {
        hash: bundle.hash,
        module: bundle.module,
    }))
}

/// Why a directory could not be packed.
type NotPacked = Box<dyn std::error::Error + Send + Sync>;

async fn pack_directory(directory: PathBuf, packing: Packing) -> Result<Bundle, NotPacked> {
    Ok(tokio::task::spawn_blocking(move || pack(&directory, &packing)).await??)
}

/// Local modules of stored tasks that are missing on this machine, each with the error of the system.
pub(crate) fn missing(tasks: &[StoredTask]) -> Vec<(PathBuf, std::io::Error)> {
    let directories = tasks
        .iter()
        .filter_map(|task| local_directory(&task.spec.definition));
    let mut known = HashSet::new();
    directories
        .filter(|directory| known.insert(directory.clone()))
        .filter_map(|directory| {
            let error = std::fs::metadata(&directory).err()?;
            Some((directory, error))
        })
        .collect()
}
