//! Where a task's module comes from, and the digest of a local one.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cts_bundle::{
    BundleIdentity, InvalidModulePath, Limits, ModuleRoots, Packing, Roots, declared_variables,
    identify, module_interface, module_source,
};
use cts_core::{Chain, Digest, ModuleInterface, ProviderId, TaskDefinition};

use crate::local_module::{is_local, local_path};
use crate::report::location::{Located, SourceLocation};
use crate::report::sink::Sink;
use crate::report::suggestion::suggestion;
use crate::tasks::checks;

/// Only what has to be moved to workers has to be small, which is not known here.
const UNLIMITED: Limits = Limits {
    max_bytes: u64::MAX,
    max_files: usize::MAX,
};

/// Resolves the modules of a configuration, each local one once.
#[derive(Debug)]
pub(crate) struct ModuleSources<'a> {
    working_dirs: &'a [PathBuf],
    roots: ModuleRoots,
    sink: &'a Sink,
    local: HashMap<PathBuf, Result<LocalModule, String>>,
    may_be_elsewhere: bool,
}

/// A module directory that was read: its source, digest and variables.
#[derive(Debug, Clone)]
pub(super) struct LocalModule {
    source: String,
    digest: Digest,
    /// See [`declared_variables`].
    variables: Option<Arc<BTreeSet<String>>>,
    interface: Arc<ModuleInterface>,
    /// The directories that it is read from: its own, and each of a module that it calls.
    pub(super) directories: BTreeSet<PathBuf>,
}

/// A module as Terraform gets it.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedModule {
    pub(crate) source: String,
    /// Digest of the files, if the module is local.
    pub(crate) digest: Option<Digest>,
    /// Variables that a local module declares, see [`declared_variables`].
    variables: Option<Arc<BTreeSet<String>>>,
    /// Further declarations of a local module.
    interface: Option<Arc<ModuleInterface>>,
    /// Why the module cannot be used.
    problem: Option<String>,
}

/// A variable that a task sets and its module does not declare.
#[derive(Debug, Clone)]
pub(crate) struct MissingVariable {
    /// The name, if the task sets the variable itself.
    own: Option<String>,
    message: String,
    help: Option<String>,
}

impl ResolvedModule {
    /// A module that Terraform fetches, or a directory that is missing on this machine.
    pub(super) fn elsewhere(source: String) -> Self {
        Self {
            source,
            digest: None,
            variables: None,
            interface: None,
            problem: None,
        }
    }

    /// Problems with several instances of one provider, each with its place among `providers`. Only a module that
    /// declares their aliases can tell them apart.
    pub(crate) fn instance_problems(&self, providers: &[ProviderId]) -> Vec<(usize, String)> {
        let problems = providers.iter().enumerate().filter_map(|(place, id)| {
            let of_name = |known: &&ProviderId| known.name == id.name;
            let before = providers.get(..place)?;
            // An id that is listed twice is a problem of its own.
            if !before.iter().any(|known| of_name(&known)) || before.contains(id) {
                return None;
            }
            let (are_distinct, reason) = match &self.interface {
                Some(interface) => (
                    interface.distinguishes(providers.iter().filter(of_name)),
                    ", and the module does not have the alias of each in `configuration_aliases`",
                ),
                // The files of a local module may be on a different member only.
                None => (is_local(&self.source), ""),
            };
            (!are_distinct).then(|| (place, format!("{}{reason}", checks::listed_twice(id))))
        });
        problems.collect()
    }

    /// A module that cannot be used.
    pub(super) fn unusable(source: String, problem: String) -> Self {
        Self {
            problem: Some(problem),
            ..Self::elsewhere(source)
        }
    }

    /// Why the module cannot be used for a task; `None` if it can.
    pub(crate) fn problem_for(&self, task: &TaskDefinition) -> Option<String> {
        let missing = self.missing_variables(task).into_iter();
        let missing: Vec<_> = missing.map(|variable| variable.message).collect();
        let missing = (!missing.is_empty()).then(|| missing.join("; "));
        self.problem.clone().or(missing)
    }

    /// Variables that the task sets and the module does not declare.
    fn missing_variables(&self, task: &TaskDefinition) -> Vec<MissingVariable> {
        let Some(declared) = &self.variables else {
            return Vec::new();
        };
        let name = &task.name;
        let lacks = |variable: &str| {
            format!("module for task \"{name}\" is missing the {variable:?} variable")
        };
        let inputs = task.input_variables().into_iter();
        let inputs = inputs.filter(|variable| !declared.contains(*variable));
        let inputs = inputs.map(|variable| {
            let reason = if variable == "services" {
                "which every module gets"
            } else {
                "by which it gets what the task watches"
            };
            let lacks = lacks(variable);
            MissingVariable {
                own: None,
                message: format!("{lacks}, {reason}: add `variable {variable:?} {{ type = any }}`"),
                help: None,
            }
        });
        let own = task.variables.keys();
        // A variable that no task can set is a separate problem.
        let own = own.filter(|variable| {
            !declared.contains(*variable) && task.variable_problem(variable).is_none()
        });
        let known: Vec<&str> = declared.iter().map(String::as_str).collect();
        let own = own.map(|variable| MissingVariable {
            own: Some(variable.clone()),
            message: format!("{}, which the task sets", lacks(variable)),
            help: suggestion(variable, &known),
        });
        inputs.chain(own).collect()
    }
}

impl From<LocalModule> for ResolvedModule {
    fn from(local: LocalModule) -> Self {
        Self {
            source: local.source,
            digest: Some(local.digest),
            variables: local.variables,
            interface: Some(local.interface),
            problem: None,
        }
    }
}

/// The module of a task of the files, read without a report.
pub(super) fn file_module(
    current_dir: &Path,
    working_dirs: &[PathBuf],
    roots: &ModuleRoots,
    written: &str,
) -> ResolvedModule {
    let source = written.to_owned();
    let Some(path) = local_path(current_dir, written) else {
        return match lacks_dot(current_dir, written) {
            Some(problem) => ResolvedModule::unusable(source, problem),
            None => ResolvedModule::elsewhere(source),
        };
    };
    match local_module(&path, working_dirs, roots.of_file(&path)) {
        Ok(found) => found.into(),
        Err(problem) => ResolvedModule::unusable(path.to_string_lossy().into_owned(), problem),
    }
}

impl<'a> ModuleSources<'a> {
    /// Digests leave out everything below one of `working_dirs`: a module next to the task directories would
    /// otherwise change with every run.
    pub(crate) fn new(working_dirs: &'a [PathBuf], roots: ModuleRoots, sink: &'a Sink) -> Self {
        Self {
            working_dirs,
            roots,
            sink,
            local: HashMap::new(),
            may_be_elsewhere: false,
        }
    }

    /// Only warns of a module directory that is missing: if several members share a database, a different
    /// member may have it, or have stored its bundle (docs/compatibility.md#high-availability).
    pub(crate) fn may_be_elsewhere(&mut self) {
        self.may_be_elsewhere = true;
    }

    /// The module as Terraform gets it. A module that cannot be used is reported.
    pub(crate) fn resolve(&mut self, module: &Located<String>) -> ResolvedModule {
        let written = &module.value;
        let Some(path) = local_path(&self.sink.current_dir, written) else {
            return match lacks_dot(&self.sink.current_dir, written) {
                Some(problem) => self.unusable(module, written.clone(), problem),
                None => ResolvedModule::elsewhere(written.clone()),
            };
        };
        let source = path.to_string_lossy().into_owned();
        if self.may_be_elsewhere && !path.exists() {
            let problem = format!("module directory {source} does not exist");
            let message = format!(
                "{problem} here: its task needs another member, or the bundle of an earlier start"
            );
            self.sink.warning(&module.place, message);
            return ResolvedModule::unusable(source, problem);
        }
        let (working_dirs, roots) = (self.working_dirs, &self.roots);
        let found = self
            .local
            .entry(path)
            .or_insert_with_key(|path| local_module(path, working_dirs, roots.of_file(path)));
        match found.clone() {
            Ok(found) => found.into(),
            Err(problem) => self.unusable(module, source, problem),
        }
    }

    fn unusable(
        &self,
        module: &Located<String>,
        source: String,
        problem: String,
    ) -> ResolvedModule {
        self.sink.module_problem(&module.place, &problem, None);
        ResolvedModule::unusable(source, problem)
    }

    /// Reports which variables a module lacks: those of the task itself where the task sets them, with their `places`.
    pub(crate) fn require_variables(
        &self,
        module: &ResolvedModule,
        task: &TaskDefinition,
        place: &SourceLocation,
        places: &[(String, SourceLocation)],
    ) {
        for missing in module.missing_variables(task) {
            let own = missing.own.as_ref();
            let own = own.and_then(|own| places.iter().find(|(name, _place)| name == own));
            let place = own.map_or(place, |(_name, place)| place);
            self.sink
                .module_problem(place, missing.message, missing.help);
        }
    }
}

/// Terraform takes a bare name for a package that is to be fetched, and finds no such thing.
fn lacks_dot(current_dir: &Path, written: &str) -> Option<String> {
    let is_directory = is_bare(written) && current_dir.join(written).is_dir();
    is_directory.then(|| no_address(written))
}

/// Whether the source is a single name, which is never the address of a module.
pub(super) fn is_bare(written: &str) -> bool {
    let names = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_name = !written.is_empty() && written.bytes().all(names);
    is_name && written.parse::<std::net::IpAddr>().is_err()
}

pub(super) fn no_address(written: &str) -> String {
    format!(
        "module {written:?} is no address of a module; for the directory of that name write \"./{written}\""
    )
}

/// Refuses what Terraform could make nothing of.
fn require_module(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let cannot_read = |error: io::Error| format!("cannot read module directory {shown}: {error}");
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(format!("module directory {shown} does not exist"));
        }
        Err(error) => return Err(cannot_read(error)),
        Ok(metadata) if !metadata.is_dir() => {
            return Err(format!("module {shown} is no directory"));
        }
        Ok(_) => {}
    }
    if has_terraform_file(path).map_err(cannot_read)? {
        Ok(())
    } else {
        Err(format!(
            "module directory {shown} has no .tf or .tf.json file"
        ))
    }
}

fn has_terraform_file(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let suffixed = name.ends_with(b".tf") || name.ends_with(b".tf.json");
        if suffixed && entry.path().is_file() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The digest is that of the module's bundle, so that it does not matter whether workers use the
/// directory in place.
pub(super) fn local_module(
    path: &Path,
    working_dirs: &[PathBuf],
    roots: Roots,
) -> Result<LocalModule, String> {
    let shown = path.display();
    // Checked before anything is read there.
    if !roots.hold(path) {
        return Err(format!(
            "module directory {shown} is in no module root: add module_roots = [\"{}\"] to the configuration",
            path.parent().unwrap_or(path).display()
        ));
    }
    require_module(path)?;
    let packing = Packing {
        excluded: working_dirs.to_owned(),
        roots,
        limits: UNLIMITED,
    };
    let identity = identify(path, &packing).map_err(|error| {
        let failure = Chain(&error.failure);
        format!("module directory {shown} cannot be used: {failure}")
    })?;
    let source = source_in_place(&identity).map_err(|error| error.to_string())?;
    Ok(LocalModule {
        interface: Arc::new(module_interface(&source)),
        source,
        digest: identity.hash,
        variables: declared_variables(path).map(Arc::new),
        directories: identity.directories,
    })
}

fn source_in_place(identity: &BundleIdentity) -> Result<String, InvalidModulePath> {
    // Where only `/` is above all of a module's directories, `/` + `//` + `web` would be no source that
    // Terraform understands; with the dot it finds the two slashes.
    let only_root = identity.root == Path::new("/") && !identity.module.as_os_str().is_empty();
    let root = if only_root {
        Path::new("/.")
    } else {
        &identity.root
    };
    module_source(root, &identity.module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_whose_calls_share_only_the_root_directory_with_it_has_a_source() {
        let source = |root: &str, module: &str| {
            source_in_place(&BundleIdentity {
                hash: Digest::of(b"module"),
                root: root.into(),
                module: module.into(),
                directories: BTreeSet::new(),
            })
            .unwrap()
        };
        assert_eq!(source("/", "web"), "/.//web");
        assert_eq!(source("/srv", "web"), "/srv//web");
        assert_eq!(source("/srv/web", ""), "/srv/web");
    }
}
