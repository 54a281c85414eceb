//! The Terraform or OpenTofu to run, and the source of a missing engine (docs/terraform.md#the-executable).

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_config::{Config, TerraformDriver};
use cts_core::Chain;
use cts_releases::{InstallLock, Limits, Release, ReleaseKeys, Releases, Source, vendor_site};
use cts_runtime::ProcessEnv;
use cts_terraform::{Executable, FindError, is_tested};
use semver::Version;

use crate::engine_error::{EngineError, InstallError};
use crate::failure::Failure;

/// Directory of installed engines, in the working directory; no task can have the name, because it has a dot.
const ENGINES: &str = ".engines";

/// More than a key has, and less than what a mistaken file could have.
const LONGEST_KEY: u64 = 1 << 20;

/// Looks for the engine of a configuration, and installs it if need be.
#[derive(Debug, Clone, Copy)]
struct Search<'a> {
    driver: &'a TerraformDriver,
    process_env: &'a ProcessEnv,
}

/// The engine of a worker. If a server makes the runs, an engine is needed only to read states from the backend that
/// had them before.
pub(crate) async fn needed_engine(
    config: &Config,
    process_env: &ProcessEnv,
    working_dir: &Path,
) -> Result<Option<Executable>, Failure> {
    let cloud = config.terraform_cloud.as_ref();
    if cloud.is_some_and(|cloud| cloud.previous_backend.is_none()) {
        return Ok(None);
    }
    find_engine(config, process_env, working_dir)
        .await
        .map(Some)
}

/// The engine that a start would find.
#[derive(Debug)]
pub(crate) enum Available {
    /// The engine is on this machine.
    Found(Executable),
    /// A version other than the configured version is on the `PATH`; a start first tries to install the configured
    /// version.
    Other {
        /// The engine on the `PATH`.
        found: Executable,
        /// The configured version.
        wanted: String,
    },
    /// A start would install it.
    Missing {
        /// The version that would be installed.
        version: String,
        /// The source of the release.
        site: String,
        /// The directory for the engine.
        directory: PathBuf,
    },
}

/// Looks for the engine of a configuration as a start does, and installs nothing.
pub(crate) async fn look_for_engine(
    config: &Config,
    process_env: &ProcessEnv,
    working_dir: &Path,
) -> Result<Available, EngineError> {
    let search = Search {
        driver: &config.driver,
        process_env,
    };
    let missing = |directory: PathBuf| Available::Missing {
        version: search.version(),
        site: search.site(),
        directory,
    };
    if let Some(directory) = &config.driver.path {
        let found = search.look_into(directory).await?;
        return Ok(found.map_or_else(|| missing(directory.clone()), Available::Found));
    }
    let on_path = search.on_path().await?;
    if let Some(executable) = on_path.as_ref().filter(|it| search.is_wanted(it)) {
        return Ok(Available::Found(executable.clone()));
    }
    let directory = search.own_directory(working_dir);
    match (search.look_into(&directory).await?, on_path) {
        (Some(executable), _) => Ok(Available::Found(executable)),
        (None, Some(found)) => Ok(Available::Other {
            found,
            wanted: search.version(),
        }),
        (None, None) => Ok(missing(directory)),
    }
}

/// The engine that tasks of this process run with, installed if it is missing: into `driver.path`, or below
/// `working_dir`.
async fn find_engine(
    config: &Config,
    process_env: &ProcessEnv,
    working_dir: &Path,
) -> Result<Executable, Failure> {
    let driver = &config.driver;
    let search = Search {
        driver,
        process_env,
    };
    let found = match &driver.path {
        Some(directory) => search.in_configured(directory).await,
        None => search.anywhere(working_dir).await,
    };
    let executable = found.map_err(log_unsupported)?;
    search.warn_of(&executable);
    if !executable.supports_backend(&driver.backend) {
        return Err(Failure::Engine(Box::new(EngineError::Backend {
            engine: driver.engine,
            backend: driver.backend.kind.clone(),
            version: executable.version().clone(),
        })));
    }
    Ok(executable)
}

/// A line that runbooks of the original look for.
fn log_unsupported(error: EngineError) -> Failure {
    if let EngineError::Unusable {
        source: FindError::Unsupported { version, .. },
        ..
    } = &error
    {
        tracing::error!(
            target: "driver.terraform",
            tf_version = %version,
            "found Terraform version does not satisfy the version constraint"
        );
    }
    Failure::Engine(Box::new(error))
}

impl Search<'_> {
    /// `directory` is the only place that counts.
    async fn in_configured(&self, directory: &Path) -> Result<Executable, EngineError> {
        if let Some(executable) = self.look_into(directory).await? {
            return Ok(executable);
        }
        self.install(directory, false).await
    }

    /// The `PATH`, and an engine that was or is installed below `working_dir`. Write access to the directory
    /// that cts happens to be started in must not decide which program runs.
    async fn anywhere(&self, working_dir: &Path) -> Result<Executable, EngineError> {
        let start = &self.process_env.current_dir;
        let unused = start.join(self.driver.engine.executable());
        if unused.is_file() {
            tracing::warn!(
                target: "driver.terraform",
                path = %unused.display(),
                "what is in the current directory is not run; path = \".\" in the driver block uses it"
            );
        }
        let on_path = match self.on_path().await? {
            Some(executable) if self.is_wanted(&executable) => {
                skip_install(&executable);
                return Ok(executable);
            }
            other => other,
        };
        let directory = self.own_directory(working_dir);
        if let Some(executable) = self.look_into(&directory).await? {
            return Ok(executable);
        }
        match (self.install(&directory, true).await, on_path) {
            (Err(error), Some(executable)) => {
                tracing::warn!(
                    target: "driver.terraform",
                    error = %Chain(&error),
                    path = %executable.path().display(),
                    "cannot install the configured version, using the one on the PATH"
                );
                Ok(executable)
            }
            (result, _) => result,
        }
    }

    /// The first executable on the `PATH`.
    async fn on_path(&self) -> Result<Option<Executable>, EngineError> {
        let (environment, start) = (&self.process_env.environment, &self.process_env.current_dir);
        let found = Executable::on_path(self.driver.engine, environment, start).await;
        found.map_err(|source| self.unusable(source))
    }

    /// The directory of the engine that cts installs.
    fn own_directory(&self, working_dir: &Path) -> PathBuf {
        let (engine, version) = (self.driver.engine.driver(), self.version());
        let engines = self.process_env.current_dir.join(working_dir).join(ENGINES);
        engines.join(format!("{engine}-{version}"))
    }

    async fn look_into(&self, directory: &Path) -> Result<Option<Executable>, EngineError> {
        let found = Executable::in_directory(
            self.driver.engine,
            directory,
            &self.process_env.environment,
            &self.process_env.current_dir,
        );
        let found = found.await.map_err(|source| self.unusable(source))?;
        if let Some(executable) = &found {
            skip_install(executable);
        }
        Ok(found)
    }

    fn unusable(&self, source: FindError) -> EngineError {
        EngineError::Unusable {
            engine: self.driver.engine,
            source,
        }
    }

    fn is_wanted(&self, executable: &Executable) -> bool {
        let wanted = self.driver.version.as_deref();
        wanted.is_none_or(|wanted| wanted == executable.version().to_string())
    }

    /// The version that is installed.
    fn version(&self) -> String {
        let [major, minor, patch] = self.driver.engine.newest_tested();
        let newest = Version::new(major, minor, patch);
        let wanted = self.driver.version.clone();
        wanted.unwrap_or_else(|| newest.to_string())
    }

    fn site(&self) -> String {
        let configured = self.driver.releases.url.clone();
        configured.unwrap_or_else(|| vendor_site(self.driver.engine).to_owned())
    }

    async fn install(&self, directory: &Path, on_path: bool) -> Result<Executable, EngineError> {
        let installed = self.try_install(directory).await;
        installed.map_err(|source| EngineError::NotInstalled {
            engine: self.driver.engine,
            directory: directory.to_owned(),
            version: self.version(),
            site: self.site(),
            on_path,
            source,
        })
    }

    async fn try_install(&self, directory: &Path) -> Result<Executable, InstallError> {
        let (engine, version) = (self.driver.engine, self.version());
        let release = Release {
            engine,
            version: version
                .parse()
                .map_err(|source| InstallError::Version { version, source })?,
        };
        let limits = Limits::default();
        let source = Source {
            site: self.site(),
            keys: self.keys()?,
            limits,
        };
        let releases = Releases::new(source)?;
        let lock = InstallLock::take(directory, limits.time + Duration::from_mins(1)).await?;
        let (environment, start) = (&self.process_env.environment, &self.process_env.current_dir);
        // Another process may have installed the engine in the meantime.
        let there = Executable::in_directory(engine, directory, environment, start).await;
        if let Some(executable) = there.map_err(InstallError::DoesNotRun)? {
            return Ok(executable);
        }
        tracing::info!(
            target: "driver.terraform",
            version = %release.version,
            install_path = %directory.display(),
            site = self.site(),
            "install {}", engine.driver()
        );
        let staged = releases.fetch(&release, &lock).await?;
        let checked = Executable::at(engine, staged.path().to_owned(), environment, start).await;
        let checked = checked.map_err(InstallError::DoesNotRun)?;
        if checked.version() != &release.version {
            let found = checked.version().clone();
            return Err(InstallError::OtherVersion { found });
        }
        let path = staged.install()?;
        tracing::info!(
            target: "driver.terraform",
            version = %release.version,
            path = %path.display(),
            "successfully installed {}", engine.driver()
        );
        let executable = Executable::at(engine, path, environment, start).await;
        executable.map_err(InstallError::DoesNotRun)
    }

    /// The configured keys, or the vendor's.
    fn keys(&self) -> Result<ReleaseKeys, InstallError> {
        let mut keys: Option<ReleaseKeys> = None;
        for path in &self.driver.releases.keys {
            let read = read_key(path)?;
            keys = Some(match keys {
                Some(keys) => keys.and(read),
                None => read,
            });
        }
        match keys {
            Some(keys) => Ok(keys),
            None => {
                ReleaseKeys::of_vendor(self.driver.engine).map_err(|source| InstallError::Key {
                    path: "of the vendor".to_owned(),
                    source,
                })
            }
        }
    }

    /// Warns of unusual properties of the engine that is used.
    fn warn_of(&self, executable: &Executable) {
        let (engine, version) = (executable.engine(), executable.version());
        if !is_tested(engine, version) {
            tracing::warn!(
                target: "driver.terraform",
                tf_version = %version,
                "cts is not tested with this version of {}, which is newer", engine.title()
            );
        }
        if let Some(wanted) = &self.driver.version
            && !self.is_wanted(executable)
        {
            tracing::warn!(
                target: "driver.terraform",
                tf_version = %version,
                wanted,
                "this is not the version of {} that driver.version names", engine.title()
            );
        }
    }
}

fn skip_install(executable: &Executable) {
    let path = executable.path();
    tracing::info!(
        target: "driver.terraform",
        tf_version = %executable.version(),
        install_path = %path.parent().unwrap_or(path).display(),
        path = %path.display(),
        "skipping install, {} already exists", executable.engine().driver()
    );
}

fn read_key(path: &Path) -> Result<ReleaseKeys, InstallError> {
    let mut content = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(LONGEST_KEY).read_to_end(&mut content))
        .map_err(|source| InstallError::KeyFile {
            path: path.to_owned(),
            source,
        })?;
    ReleaseKeys::read(&content).map_err(|source| InstallError::Key {
        path: path.display().to_string(),
        source,
    })
}
