//! The command `init` (docs/terraform.md#commands).

use std::path::Path;
use std::sync::Arc;

use tokio::time::timeout;

use crate::attempt::Attempt;
use crate::commands::outcome::{failed, must_succeed};
use crate::commands::plugin_cache::{self, CacheLock};
use crate::commands::state::{forget_same_backend, keep_backend};
use crate::commands::terraform::{Terraform, take_lock};
use crate::commands::torn::remove_torn;
use crate::data_files::{BACKEND_FILE, forget_workspace};
use crate::directory::{TaskDirectory, make_secret, remove_if_present, write_secret};
use crate::error::{CommandError, CommandFailure};
use crate::output::Discard;
use crate::process::StdoutUse;
use crate::render::{BACKEND_CONFIG, GeneratedFile, RootModule};
use crate::scratch::{Purpose, ScratchDirectory};
use crate::step::Step;

/// Makes `init` accept a backend without asking for the previous backend.
const RECONFIGURE: &str = "-reconfigure";

/// Files in which the backend `local` keeps states in the directory of a root module.
const STATES: [&str; 2] = ["terraform.tfstate", "terraform.tfstate.d"];

impl Terraform {
    /// Runs `terraform init`. The choice of a workspace is forgotten first: `init` fails if the chosen workspace has no
    /// state yet.
    ///
    /// A changed backend is used as it is: no state is copied to it. Terraform's record of the previous backend is kept
    /// for [`Terraform::previous_backend`].
    ///
    /// `credentials` of the backend are in their file while `init` runs. Terraform keeps the credentials in its data
    /// directory, for the commands that follow: only the owner may read that file.
    pub async fn init(
        &self,
        attempt: &Attempt,
        credentials: Option<&GeneratedFile>,
    ) -> Result<(), CommandError> {
        self.init_with(attempt, credentials, self.arguments(Step::Init))
            .await
    }

    /// Runs `terraform init` for a generated root module.
    ///
    /// State files in the task directory are those of a backend `local` without a configured path. `init` would ask
    /// whether to copy them to the backend. Therefore the backend is first initialised in a directory without these
    /// files; from then on it is the previous backend.
    ///
    /// If `init` fails, `validate` shows whether the text of the module is the reason.
    pub(crate) async fn init_root(
        &self,
        attempt: &Attempt,
        root: &RootModule,
    ) -> Result<(), CommandError> {
        let mut arguments = self.arguments(Step::Init);
        if has_states(attempt.directory.path()) {
            self.init_backend(attempt, &root.backend_module).await?;
            arguments.retain(|argument| argument != RECONFIGURE);
        }
        let credentials = root.backend_credentials.as_ref();
        let mut result = self.init_with(attempt, credentials, arguments).await;
        if let Err(CommandError { failure, .. }) = &mut result
            && let CommandFailure::Exit {
                stderr,
                interrupted: false,
                confirmed,
                ..
            } = failure
        {
            *confirmed = self.validate_confirms(attempt, stderr).await;
        }
        result
    }

    async fn init_backend(
        &self,
        attempt: &Attempt,
        module: &GeneratedFile,
    ) -> Result<(), CommandError> {
        let unwritten = |error| failed(attempt, Step::Init, error);
        forget_workspace(attempt).map_err(unwritten)?;
        remove_torn(attempt).map_err(unwritten)?;
        keep_backend(attempt).map_err(unwritten)?;
        let directory =
            ScratchDirectory::new(attempt.directory.path(), Purpose::Init).map_err(unwritten)?;
        write_secret(&directory.path().join(module.name), &module.contents).map_err(unwritten)?;
        let data = attempt.data_directory();
        let there = Attempt {
            directory: TaskDirectory::new(directory.path(), attempt.directory.path()),
            environment: attempt.environment.with_data_in(&data),
            output: Arc::new(Discard),
            ..attempt.clone()
        };
        let mut arguments = self.arguments(Step::Init);
        for argument in &mut arguments {
            if argument == "-get=true" {
                "-get=false".clone_into(argument);
            }
        }
        let ended = self
            .run_holding(&there, Step::Init, arguments, StdoutUse::Captured, None)
            .await;
        make_secret(&data.join(BACKEND_FILE)).map_err(unwritten)?;
        must_succeed(attempt, Step::Init, ended?).map(drop)
    }

    async fn init_with(
        &self,
        attempt: &Attempt,
        credentials: Option<&GeneratedFile>,
        mut arguments: Vec<String>,
    ) -> Result<(), CommandError> {
        let unwritten = |error| failed(attempt, Step::Init, error);
        forget_workspace(attempt).map_err(unwritten)?;
        remove_torn(attempt).map_err(unwritten)?;
        keep_backend(attempt).map_err(unwritten)?;
        self.shared_init.forget(attempt.directory.path()).await;
        let cache = match plugin_cache::directory(self.executable.engine(), &attempt.environment) {
            Some(directory) => Some(self.lock_plugin_cache(attempt, &directory).await?),
            None => None,
        };
        let credentials = credentials.map(|file| (attempt.directory.path().join(file.name), file));
        if let Some((path, file)) = &credentials {
            write_secret(path, &file.contents).map_err(unwritten)?;
            arguments.push(BACKEND_CONFIG.to_owned());
        }
        let ended = self
            .run_holding(attempt, Step::Init, arguments, StdoutUse::Live, cache)
            .await;
        if let Some((path, _file)) = &credentials {
            remove_if_present(path).map_err(unwritten)?;
            let kept = attempt.data_directory().join(BACKEND_FILE);
            make_secret(&kept).map_err(unwritten)?;
        }
        forget_same_backend(attempt).map_err(unwritten)?;
        must_succeed(attempt, Step::Init, ended?).map(drop)
    }

    /// Waits for the plugin cache in `directory`, relative to the task directory, no longer than an `init`
    /// may take.
    async fn lock_plugin_cache(
        &self,
        attempt: &Attempt,
        directory: &Path,
    ) -> Result<CacheLock, CommandError> {
        let (limit, key) = Step::Init.timeout(&attempt.timeouts);
        let directory = attempt.directory.path().join(directory);
        let lock = async {
            let held = take_lock(&self.plugin_cache, attempt, Step::Init).await?;
            tokio::select! {
                biased;
                () = attempt.stop.cancelled() => Err(failed(attempt, Step::Init, CommandFailure::Cancelled)),
                lock = CacheLock::acquire(held, &directory) => Ok(lock),
            }
        };
        timeout(limit, lock).await.unwrap_or_else(|_elapsed| {
            let failure = CommandFailure::CacheInUse { limit, key };
            Err(failed(attempt, Step::Init, failure))
        })
    }
}

fn has_states(directory: &Path) -> bool {
    let mut names = STATES.iter();
    names.any(|name| directory.join(name).exists())
}
