//! The place of a store, by the command line, the configuration and the environment.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use cts_cli::{Migrate, StorePlace, load};
use cts_config::{Config, DatabaseUrl, DatabaseUrlError};
use cts_runtime::ProcessEnv;
use cts_store::Store;
use cts_store_postgres::{PostgresStore, Settings};
use cts_store_sqlite::SqliteStore;
use secrecy::SecretString;

use crate::failure::Failure;
use crate::place_error::{FILE_VARIABLE, PlaceError, VARIABLE};
use crate::services::database;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A migration uses one connection.
const CONNECTIONS: u32 = 1;

/// A store.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file of the embedded mode.
    File(PathBuf),
    /// Postgres.
    Server(Settings),
}

impl Source {
    /// The store of a configuration.
    pub(crate) fn configured(config: &Config) -> Result<Self, DatabaseUrlError> {
        Ok(match &config.database {
            Some(database) => Self::Server(database::settings(database)?),
            None => Self::File(config.working_dir.join(database::FILE)),
        })
    }

    /// Requires that a file exists, and makes its path canonical.
    pub(crate) fn existing(self) -> Result<Self, Failure> {
        match self {
            Self::File(path) => std::fs::canonicalize(&path)
                .map(Self::File)
                .map_err(|source| Failure::Path { path, source }),
            server @ Self::Server(_) => Ok(server),
        }
    }
}

impl Source {
    /// The existing store that the options of a command name, or else the store of the configuration or the
    /// environment.
    pub(crate) fn named(place: &StorePlace, process_env: &ProcessEnv) -> Result<Self, Failure> {
        let configured = if place.configuration.paths.is_empty() {
            None
        } else {
            let config = load(&place.configuration, process_env)?;
            Some(Self::configured(&config)?)
        };
        source(place.store.as_deref(), configured, process_env)?.existing()
    }

    /// Uses the store in parallel with a running cts, and closes it afterwards.
    pub(crate) async fn attached<T>(
        self,
        process_env: &ProcessEnv,
        work: impl AsyncFnOnce(Arc<dyn Store>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self {
            Self::File(path) => {
                let store = cts_store_sqlite::attach(&path, Arc::clone(&process_env.clock)).await?;
                let store = Arc::new(store);
                let done = work(Arc::<SqliteStore>::clone(&store)).await;
                store.close().await;
                done
            }
            Self::Server(settings) => {
                let store = Arc::new(cts_store_postgres::connect(&settings).await?);
                let done = work(Arc::<PostgresStore>::clone(&store)).await;
                store.close().await;
                done
            }
        }
    }
}

/// The store named with `--store`, else the configured store, else the store of the environment.
pub(crate) fn source(
    named: Option<&str>,
    configured: Option<Source>,
    process_env: &ProcessEnv,
) -> Result<Source, PlaceError> {
    match (named, configured) {
        (Some(store), _) if store.starts_with("sqlite:") => {
            file(store, process_env).map(Source::File)
        }
        (Some(store), _) => postgres(store, "--store").map(server),
        (None, Some(configured)) => Ok(configured),
        (None, None) => of_environment(process_env)?.ok_or(PlaceError::NoStore),
    }
}

/// The database to migrate or to write to: `--to`, else the database of the configuration, else the database of the
/// environment. A configuration may use a file.
pub(super) fn target(command: &Migrate, process_env: &ProcessEnv) -> Result<Source, Failure> {
    let configured = if command.configuration.paths.is_empty() {
        None
    } else {
        let config = load(&command.configuration, process_env)?;
        Some(Source::configured(&config)?)
    };
    let named = command.to.as_deref().map(|to| postgres(to, "--to"));
    match (named.transpose()?, configured) {
        (Some(url), Some(Source::Server(settings))) => {
            Ok(Source::Server(Settings { url, ..settings }))
        }
        (Some(url), _) => Ok(server(url)),
        (None, Some(configured)) => Ok(configured),
        (None, None) => Ok(of_environment(process_env)?.ok_or(PlaceError::NoDatabase)?),
    }
}

fn server(url: SecretString) -> Source {
    Source::Server(Settings {
        url,
        max_connections: CONNECTIONS,
        ca_cert: None,
    })
}

/// The path of `--from`; a relative path is relative to the current directory.
pub(super) fn file(from: &str, process_env: &ProcessEnv) -> Result<PathBuf, PlaceError> {
    match from.strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() => Ok(process_env.current_dir.join(path)),
        _ => Err(PlaceError::NotSqlite),
    }
}

fn of_environment(process_env: &ProcessEnv) -> Result<Option<Source>, PlaceError> {
    let variable = |name: &str| {
        let given = process_env.environment.get(OsStr::new(name));
        given.filter(|given| !given.is_empty())
    };
    let url = match (variable(VARIABLE), variable(FILE_VARIABLE)) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(PlaceError::TwoVariables),
        (Some(url), None) => postgres(url.to_str().unwrap_or_default(), VARIABLE)?,
        (None, Some(path)) => DatabaseUrl::File(process_env.current_dir.join(path)).read()?,
    };
    Ok(Some(server(url)))
}

fn postgres(url: &str, place: &'static str) -> Result<SecretString, PlaceError> {
    let fits = |scheme: &&str| {
        let begin = url.get(..scheme.len());
        url.len() > scheme.len() && begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    };
    if SCHEMES.iter().any(fits) {
        Ok(SecretString::from(url))
    } else {
        Err(PlaceError::NotPostgres { place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cts_cli::{Configuration, Output, OutputOption};
    use cts_runtime::SystemClock;
    use secrecy::ExposeSecret as _;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    fn process_env(variable: &str) -> ProcessEnv {
        with_environment(&[(VARIABLE, variable)])
    }

    fn with_environment(variables: &[(&str, &str)]) -> ProcessEnv {
        let variables = variables.iter();
        ProcessEnv {
            program: "cts",
            environment: variables
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            current_dir: "/here".into(),
            hostname: "test".to_owned(),
            boot: None,
            memory: None,
            descriptors: 1024,
            is_root: false,
            clock: Arc::new(SystemClock),
            log_format: cts_runtime::LogFormat::Text,
        }
    }

    fn command(to: Option<&str>) -> Migrate {
        Migrate {
            configuration: Configuration { paths: Vec::new() },
            from: None,
            to: to.map(str::to_owned),
            dry_run: false,
            restored: false,
            output: OutputOption {
                output: Output::Table,
            },
        }
    }

    fn chosen(to: Option<&str>, variable: &str) -> Result<String, String> {
        match target(&command(to), &process_env(variable)) {
            Ok(Source::Server(settings)) => Ok(settings.url.expose_secret().to_owned()),
            Ok(Source::File(_)) => Err("a file".to_owned()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn the_command_line_wins_over_the_environment() {
        let (to, variable) = ("postgres://a/1", "postgresql://b/2");
        assert_eq!(chosen(Some(to), variable).unwrap(), to);
        assert_eq!(chosen(None, variable).unwrap(), variable);
    }

    #[test]
    fn a_file_may_hold_the_url_that_the_environment_names() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("url");
        std::fs::write(&path, "postgres://a:hunter2@b/c\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o440)).unwrap();
        let path = path.to_str().unwrap();
        let only_file = [(FILE_VARIABLE, path)];
        let both = [(FILE_VARIABLE, path), (VARIABLE, "postgres://d")];
        let chosen = |variables: &[_]| target(&command(None), &with_environment(variables));
        let Ok(Source::Server(settings)) = chosen(&only_file) else {
            panic!("the file names a server");
        };
        assert_eq!(settings.url.expose_secret(), "postgres://a:hunter2@b/c");
        let refused = chosen(&both).unwrap_err().to_string();
        assert_eq!(refused, PlaceError::TwoVariables.to_string());
    }

    #[test]
    fn refuses_addresses_of_other_databases_without_quoting_them() {
        for (to, variable, place) in [
            (Some("mysql://a:secret@b"), "", "--to"),
            (Some("postgres://"), "", "--to"),
            (Some("sqlite:secret"), "postgres://b", "--to"),
            (None, "a:secret@b", VARIABLE),
        ] {
            let refused = chosen(to, variable).unwrap_err();
            assert!(refused.starts_with(place), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
        let refused = chosen(None, "").unwrap_err();
        assert_eq!(refused, PlaceError::NoDatabase.to_string());
    }

    #[test]
    fn a_source_is_a_path_behind_its_scheme() {
        let file = |from| file(from, &process_env(""));
        for (from, path) in [
            ("sqlite:a b/cts.db", "/here/a b/cts.db"),
            ("sqlite:/x/cts.db", "/x/cts.db"),
        ] {
            assert_eq!(file(from).unwrap(), PathBuf::from(path));
        }
        for other in ["sqlite:", "cts.db", "postgres://a", ""] {
            let refused = file(other).unwrap_err();
            assert!(matches!(refused, PlaceError::NotSqlite), "{other}");
        }
    }
}
