//! Modules that callers of the API name (docs/configuration.md#module-roots).

use std::path::{Path, PathBuf};

use cts_bundle::ModuleRoots;
use cts_core::unusable_module;

use crate::allowed_sources::AllowedSources;
use crate::local_module::local_path;
use crate::tasks::module_source::{ResolvedModule, file_module, is_bare, local_module, no_address};
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
    /// The module as Terraform gets it. The problem of a module that cannot be used does not depend on the files of this
    /// machine; the reason is logged.
    pub(crate) fn resolve(&self, written: &str) -> ResolvedModule {
        let Some(path) = local_path(&self.current_dir, written) else {
            return if is_bare(written) {
                ResolvedModule::unusable(written.to_owned(), no_address(written))
            } else {
                ResolvedModule::elsewhere(written.to_owned())
            };
        };
        self.local(&path).unwrap_or_else(|reason| {
            tracing::warn!(
                module = written,
                reason,
                "a module that a client names cannot be used"
            );
            ResolvedModule::unusable(written.to_owned(), unusable_module(written))
        })
    }

    /// The module of a task of the files.
    pub(crate) fn of_file(&self, written: &str) -> ResolvedModule {
        file_module(&self.current_dir, &self.working_dirs, &self.roots, written)
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
