//! `database`, a cts-only block: where tasks, runs and events are kept if not in SQLite.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::blocks::environment::{Environment, Setting};
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::decode::token_file::read_token;
use crate::report::location::Located;
use crate::report::sink::Sink;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const DEFAULT_CONNECTIONS: u32 = 16;
const MOST_CONNECTIONS: u32 = 1000;

/// Every user of the machine may read or change the file.
const OPEN_TO_OTHERS: u32 = 0o007;

/// The Postgres that the schedulers share.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `url` or `url_file`, else the environment's.
    pub url: DatabaseUrl,
    /// `max_connections` of one process, from 1 to 1000.
    pub max_connections: u32,
    /// `ca_cert`, absolute: PEM file of the authorities that may sign the server's certificate; `None` for
    /// the authorities of the system.
    pub ca_cert: Option<PathBuf>,
}

/// The URL of the database, which may hold a password.
#[derive(Debug, Clone)]
pub enum DatabaseUrl {
    /// Begins with `postgres://` or `postgresql://`. Nothing else of it has been checked.
    Text(SecretString),
    /// Absolute path of the file that holds the URL. The file is read where the database is used: the other services
    /// share the configuration, and do without the file.
    File(PathBuf),
}

/// A file holds no URL of a database.
#[derive(Debug, thiserror::Error)]
#[error("the file with the URL of the database, {}, cannot be used", path.display())]
pub struct DatabaseUrlError {
    path: PathBuf,
    source: UrlFileProblem,
}

/// Why a file holds no URL of a database.
#[derive(Debug, thiserror::Error)]
enum UrlFileProblem {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("it is open to every user of the machine (mode {mode:o}): `chmod o-rwx` it")]
    Open { mode: u32 },
    #[error("its content {0}")]
    Content(&'static str),
}

impl DatabaseUrl {
    /// The URL itself. Reads the file, if it is in one.
    ///
    /// # Errors
    /// If the file cannot be read, every user of the machine can read or write it, or it holds something else.
    pub fn read(&self) -> Result<SecretString, DatabaseUrlError> {
        match self {
            Self::Text(url) => Ok(url.clone()),
            Self::File(path) => read_url(path).map_err(|source| DatabaseUrlError {
                path: path.clone(),
                source,
            }),
        }
    }

    /// The URL, unless it is in a file.
    pub const fn text(&self) -> Option<&SecretString> {
        match self {
            Self::Text(url) => Some(url),
            Self::File(_) => None,
        }
    }
}

/// Reads the block, which may be absent: the environment alone gives a database as well.
pub(crate) fn decode_database(
    block: Option<Block<'_>>,
    environment: Environment<'_>,
    sink: &Sink,
) -> Option<DatabaseConfig> {
    let Some(mut block) = block else {
        let url = url_of_environment(environment, sink)?;
        return Some(DatabaseConfig {
            url,
            max_connections: DEFAULT_CONNECTIONS,
            ca_cert: None,
        });
    };
    let (written, url_mistyped) = text(&mut block, "url");
    let (file, file_mistyped) = text(&mut block, "url_file");
    if let (Some(_), Some(file)) = (&written, &file) {
        let message = "`database` has a `url` and a `url_file`; only one of them may be set";
        sink.error(&file.place, message);
    }
    let url = match (written, file) {
        (Some(url), _) => {
            if let Err(reason) = check_url(&url.value) {
                let message = format!("`database.url` {reason}");
                let help = help_for(&url.value);
                sink.error_with_help(&url.place, message, help);
            }
            Some(DatabaseUrl::Text(SecretString::from(url.value)))
        }
        (None, Some(file)) => Some(DatabaseUrl::File(sink.absolute(file.value))),
        (None, None) => url_of_environment(environment, sink),
    };
    if url.is_none() && !url_mistyped && !file_mistyped {
        block.missing(format!(
            "`database` needs a `url` or a `url_file`, or the environment variable {} or {}",
            Setting::DATABASE_URL.variable(),
            Setting::DATABASE_URL_FILE.variable()
        ));
    }
    let max_connections = block.number_within("max_connections", &(1..=MOST_CONNECTIONS));
    let ca_cert = block.path("ca_cert");
    block.finish();
    Some(DatabaseConfig {
        url: url?,
        max_connections: max_connections.map_or(DEFAULT_CONNECTIONS, |most| most.value),
        ca_cert: ca_cert.map(|path| path.value),
    })
}

/// A text without which the block is incomplete, and whether another type stands in its place.
fn text(block: &mut Block<'_>, key: &'static str) -> (Option<Located<String>>, bool) {
    let given = block.has(key);
    let taken = block.take(key, coerce::text);
    let mistyped = given && taken.is_none();
    (taken.filter(|text| !text.value.is_empty()), mistyped)
}

fn url_of_environment(environment: Environment<'_>, sink: &Sink) -> Option<DatabaseUrl> {
    let (text, file) = (Setting::DATABASE_URL, Setting::DATABASE_URL_FILE);
    let Some(url) = environment.text(text) else {
        let (_, path) = environment.file(file)?;
        return Some(DatabaseUrl::File(sink.absolute(path)));
    };
    if environment.file(file).is_some() {
        sink.error_outside(format!(
            "the environment has {} and {}; only one of them may be set",
            text.variable(),
            file.variable()
        ));
    }
    if let Err(reason) = check_url(&url) {
        let help = help_for(&url).map_or_else(String::new, |help| format!(": {help}"));
        sink.error_outside(format!(
            "the environment variable {} {reason}{help}",
            text.variable()
        ));
    }
    Some(DatabaseUrl::Text(SecretString::from(url)))
}

fn read_url(path: &Path) -> Result<SecretString, UrlFileProblem> {
    let url = read_token(path)?;
    let mode = fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & OPEN_TO_OTHERS != 0 {
        return Err(UrlFileProblem::Open { mode });
    }
    check_url(&url).map_err(UrlFileProblem::Content)?;
    Ok(SecretString::from(url))
}

/// The reason never quotes the URL, not even its scheme: of a URL that lacks one, the part before the
/// first colon is a user name.
fn check_url(url: &str) -> Result<(), &'static str> {
    let fits = |scheme: &&str| starts_with(url, scheme) && url.len() > scheme.len();
    if SCHEMES.iter().any(fits) {
        return Ok(());
    }
    Err("must begin with postgres:// or postgresql:// and name a server")
}

fn help_for(url: &str) -> Option<String> {
    starts_with(url, "sqlite:").then(|| {
        "SQLite is what is used without a database of this kind, in a file in the working directory"
            .to_owned()
    })
}

fn starts_with(url: &str, scheme: &str) -> bool {
    url.get(..scheme.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn read(content: &str, mode: u32) -> Result<String, String> {
        let directory = tempfile::TempDir::new().unwrap();
        let path = directory.path().join("url");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let url = read_url(&path).map_err(|error| error.to_string())?;
        Ok(url.expose_secret().to_owned())
    }

    #[test]
    fn a_file_holds_one_url_and_is_closed_to_other_users() {
        let url = "postgres://cts:hunter2@db/cts";
        for mode in [0o600, 0o400, 0o640, 0o440] {
            assert_eq!(read(&format!(" {url}\n"), mode).unwrap(), url);
        }
        for mode in [0o644, 0o444, 0o602, 0o601] {
            let error = read(url, mode).unwrap_err();
            let expected = format!(
                "it is open to every user of the machine (mode {mode:o}): `chmod o-rwx` it"
            );
            assert_eq!(error, expected);
        }
        for wrong in ["", "cts:hunter2@db", "postgres://"] {
            let error = read(wrong, 0o600).unwrap_err();
            assert!(error.starts_with("its content must begin with postgres://"));
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let url = DatabaseUrl::File("/run/secrets/none".into());
        let error = url.read().unwrap_err().to_string();
        let expected = "the file with the URL of the database, /run/secrets/none, cannot be used";
        assert_eq!(error, expected);
    }
}
