//! Modules that callers of the API name (docs/configuration.md#module-roots).

use std::path::{Path, PathBuf};

use cts_bundle::ModuleRoots;
use cts_core::unusable_module;

use crate::tasks::allowed_sources::AllowedSources;
use crate::tasks::module_source::{ResolvedModule, is_bare, local_module, local_path, no_address};
use crate::tasks::task_directories::TaskDirectories;

/// Settings that decide about the modules that callers of the API name.
#[derive(Debug, Clone)]
pub(crate) struct ApiModules {
    /// Relative modules are below it.
    pub(crate) current_dir: PathBuf,
    /// Left out of the digests of modules.
    pub(crate) working_dirs: Vec<PathBuf>,
    pub(crate) roots: ModuleRoots,
    pub(crate) task_directories: TaskDirectories,
    /// `security.module_sources`.
    pub(crate) allowed: Option<AllowedSources>,
}

impl ApiModules {
    /// The module as Terraform gets it, or the error for the caller. The error does not depend on the files of this machine,
    /// apart from whether the module can be used; the reason is logged.
    pub(crate) fn resolve(&self, written: &str) -> Result<ResolvedModule, String> {
        let Some(path) = local_path(&self.current_dir, written) else {
            return if is_bare(written) {
                Err(no_address(written))
            } else {
                Ok(ResolvedModule::elsewhere(written.to_owned()))
            };
        };
        self.local(&path).map_err(|reason| {
            tracing::warn!(
                module = written,
                reason,
                "a module that a client names is refused"
            );
            unusable_module(written)
        })
    }

    fn local(&self, path: &Path) -> Result<ResolvedModule, String> {
        let allowed = self.allowed.as_ref();
        if allowed.is_some_and(|allowed| !allowed.hold(path)) {
            return Err("a link leads out of security.module_sources".to_owned());
        }
        let found = local_module(path, &self.working_dirs, self.roots.of_api())?;
        let mut directories = found.directories.iter();
        if let Some(directory) = directories.find(|it| self.task_directories.hold(it)) {
            let directory = directory.display();
            return Err(format!(
                "{directory} is in the working directory of a task, which has its secrets"
            ));
        }
        Ok(found.into())
    }
}
