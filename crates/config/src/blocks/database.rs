//! `database`, a cts-only block: where tasks, runs and events are kept if not in SQLite.

use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::blocks::environment::{Environment, Setting};
use crate::decode::block::Block;
use crate::decode::coerce;
use crate::report::sink::Sink;

const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
const DEFAULT_CONNECTIONS: u32 = 16;
const MOST_CONNECTIONS: u32 = 1000;

/// The Postgres that the schedulers share.
#[derive(Debug, Clone)]
pub struct DatabaseConfig {
    /// `url`, else the environment's; begins with `postgres://` or `postgresql://` and may hold a
    /// password. Nothing else of it has been checked.
    pub url: SecretString,
    /// `max_connections` of one process, from 1 to 1000.
    pub max_connections: u32,
    /// `ca_cert`, absolute: PEM file of the authorities that may sign the server's certificate; `None` for
    /// the authorities of the system.
    pub ca_cert: Option<PathBuf>,
}

/// Reads the block, which may be absent: the environment alone gives a database as well.
pub(crate) fn decode_database(
    block: Option<Block<'_>>,
    environment: Environment<'_>,
    current_dir: &Path,
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
    let given = block.has("url");
    let written = block.take("url", coerce::text);
    let mistyped = given && written.is_none();
    let url = match written.filter(|url| !url.value.is_empty()) {
        Some(url) => {
            if let Err(reason) = check_url(&url.value) {
                let message = format!("`database.url` {reason}");
                let help = help_for(&url.value);
                sink.error_with_help(&url.place, message, help);
            }
            Some(SecretString::from(url.value))
        }
        None => url_of_environment(environment, sink),
    };
    if url.is_none() && !mistyped {
        block.missing(format!(
            "`database` needs a `url`, or the environment variable {}",
            Setting::DATABASE_URL.variable()
        ));
    }
    let max_connections = block.number_within("max_connections", &(1..=MOST_CONNECTIONS));
    let ca_cert = block.path("ca_cert", current_dir);
    block.finish();
    Some(DatabaseConfig {
        url: url?,
        max_connections: max_connections.unwrap_or(DEFAULT_CONNECTIONS),
        ca_cert,
    })
}

fn url_of_environment(environment: Environment<'_>, sink: &Sink) -> Option<SecretString> {
    let url = environment.text(Setting::DATABASE_URL)?;
    if let Err(reason) = check_url(&url) {
        let help = help_for(&url).map_or_else(String::new, |help| format!(": {help}"));
        sink.error_outside(format!(
            "the environment variable {} {reason}{help}",
            Setting::DATABASE_URL.variable()
        ));
    }
    Some(SecretString::from(url))
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
