//! Address of the database, and settings of the connections to it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cts_core::Absence;
use cts_store::StoreError;
use cts_store_sql::is_stopping;
use cts_tls::AuthorityPresented;
use secrecy::{ExposeSecret as _, SecretString};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, PgPool, raw_sql};
use tokio::time::timeout;

use crate::row::failed_to;
use crate::timeline::Timeline;

/// Maximum wait of a caller for a connection.
pub(crate) const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Idle time after which a connection is checked before its next use.
const TRUSTED_FOR: Duration = Duration::from_millis(500);

const CONNECTION_LIFE: Duration = Duration::from_mins(30);
const IDLE_LIFE: Duration = Duration::from_mins(5);

/// Settings of every connection: the server ends connections that a client has left, so that their locks do not block
/// others.
const SESSION: &str = "-- connect: what holds for every connection
    SET tcp_keepalives_idle = '10s';
    SET tcp_keepalives_interval = '5s';
    SET tcp_keepalives_count = 3;
    SET idle_in_transaction_session_timeout = '60s';";

/// Settings for the leadership. Its statements are short, and a statement whose caller has stopped waiting must not
/// be executed later.
const ELECTION: &str = "-- connect: for the leadership
    SET statement_timeout = '5s';
    SET lock_timeout = '5s';
    SET idle_in_transaction_session_timeout = '5s';";

/// Settings for the work.
///
/// A process that is frozen in a transaction must not keep a different process from taking over. No statement is
/// worth compiling, and each is planned once per connection: planning the statement that leases a run takes longer
/// than its execution.
const WORK: &str = "-- connect: for the work
    SET statement_timeout = '20s';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '5s';
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;";

/// Settings for sending hints: a commit that contains only hints does not wait for the disk.
const SENDING: &str = "-- connect: for hints
    SET statement_timeout = '20s';
    SET synchronous_commit = off;";

/// Paths at which operating systems keep the certificates that they trust.
const SYSTEM_BUNDLES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// Address and limits of a database.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `postgres://user:password@host:port/database?sslmode=…`; missing parts come from the usual `PG…`
    /// variables and the password file.
    pub url: SecretString,
    /// Connections that do the work, at least 1. Up to two further connections are for hints, and one for the
    /// leadership.
    pub max_connections: u32,
    /// PEM file with the certificates to trust with `sslmode=verify-ca` and `verify-full`; if absent, those of the
    /// system.
    pub ca_cert: Option<PathBuf>,
}

/// Whether `url` leads to a different machine whose certificate and name are not both verified.
pub fn is_unverified_over_network(url: &SecretString) -> bool {
    let options = url.expose_secret().parse::<PgConnectOptions>();
    options.is_ok_and(|options| {
        let host = options.get_host();
        let is_ip_of_this = host
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback());
        let is_local = options.get_socket().is_some()
            || host.starts_with('/')
            || host.eq_ignore_ascii_case("localhost")
            || is_ip_of_this;
        !is_local && !matches!(options.get_ssl_mode(), PgSslMode::VerifyFull)
    })
}

/// Target of the connections, derived from the settings.
#[derive(Clone)]
pub(crate) struct Target {
    options: PgConnectOptions,
    max_connections: u32,
    /// The host with its port, or the path of the socket.
    server: String,
    location: String,
}

impl std::fmt::Debug for Target {
    /// Leaves out the options, which hold the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Target").field(&self.location).finish()
    }
}

/// The database does not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("no connection within {0:?}: it does not answer, or all connections are in use")]
pub(crate) struct NoConnection(pub(crate) Duration);

/// Error code of a server whose connections are all in use.
const FULL: &str = "53300";

/// Whether nothing answers at the address of the database, or the server is not ready. `None` if the database has
/// refused, or TLS has failed.
pub fn absence(error: &StoreError) -> Option<Absence> {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        let code = match error.downcast_ref::<sqlx::Error>() {
            Some(sqlx::Error::Database(refusal)) => refusal.code(),
            // The server creates the socket.
            Some(sqlx::Error::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => {
                return Some(Absence::Silent);
            }
            _ => None,
        };
        let is_busy = |code: &str| is_stopping(code) || code == FULL;
        if error.is::<NoConnection>() || code.as_deref().is_some_and(is_busy) {
            return Some(Absence::Silent);
        }
        next = error.source();
    }
    cts_core::absence(error)
}

/// The database's certificate is its own authority, which the library never accepts.
#[derive(Debug, thiserror::Error)]
#[error(
    "the server shows the certificate of an authority (CA:TRUE), as `openssl req -x509` makes it, which cannot be \
     checked for a database: make it again with `-addext basicConstraints=critical,CA:FALSE`, or have it signed by \
     an authority, and name that certificate in `ca_cert`; `sslmode=require` encrypts without a check"
)]
struct UncheckedServer(#[source] sqlx::Error);

impl Target {
    pub(crate) fn new(settings: &Settings) -> Result<Self, StoreError> {
        let options: PgConnectOptions = settings.url.expose_secret().parse().map_err(
            // The address may contain a password.
            |source: sqlx::Error| StoreError::Open {
                location: "of the configured address".to_owned(),
                source: Box::new(source),
            },
        )?;
        let place = options.get_socket().map_or_else(
            || format!("{}:{}", options.get_host(), options.get_port()),
            |socket| socket.display().to_string(),
        );
        let database = options.get_database();
        let database = database.unwrap_or_else(|| options.get_username());
        let location = format!("postgres://{place}/{database}");
        let options = options
            .application_name("cts")
            // No floating point numbers are read, and poolers refuse the setting.
            .extra_float_digits(None)
            .disable_statement_logging();
        Ok(Self {
            options: trusting(options, settings.ca_cert.as_deref()),
            max_connections: settings.max_connections.max(1),
            server: place,
            location,
        })
    }

    /// The server, without credentials.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The server and the name of the database, without credentials.
    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// `sslmode` of the address.
    pub(crate) fn tls_mode(&self) -> PgSslMode {
        self.options.get_ssl_mode()
    }

    pub(crate) fn open_error(
        &self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> StoreError {
        StoreError::Open {
            location: self.location.clone(),
            source: source.into(),
        }
    }

    /// One connection without a pool and without limits for its statements.
    pub(crate) async fn single(&self) -> Result<PgConnection, StoreError> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            set(&mut connection, "").await?;
            Ok::<_, sqlx::Error>(connection)
        };
        match timeout(CONNECT_LIMIT, connecting).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) if AuthorityPresented::is_cause_of(&error) => {
                Err(self.open_error(UncheckedServer(error)))
            }
            Ok(Err(error)) => Err(self.open_error(error)),
            Err(_elapsed) => Err(self.open_error(NoConnection(CONNECT_LIMIT))),
        }
    }

    /// Start-up options for the server in the address (`options`), if any.
    pub(crate) fn start_up_options(&self) -> Option<&str> {
        self.options.get_options()
    }

    /// Opens a connection and closes it.
    pub(crate) async fn try_to_connect(&self) -> Result<(), sqlx::Error> {
        PgConnection::connect_with(&self.options)
            .await?
            .close()
            .await
    }

    /// A connection for the leadership.
    pub(crate) async fn for_election(
        &self,
        timeline: &Timeline,
    ) -> Result<PgConnection, StoreError> {
        let connecting = async {
            let mut connection = PgConnection::connect_with(&self.options).await?;
            prepare(&mut connection, ELECTION, timeline).await?;
            Ok(connection)
        };
        match timeout(CONNECT_LIMIT, connecting).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(failed_to("give a connection")(error)),
            Err(_elapsed) => Err(StoreError::Unreachable {
                operation: "give a connection",
                source: Box::new(NoConnection(CONNECT_LIMIT)),
            }),
        }
    }

    /// The connections that do the work, opened when needed. Each is on the stored timeline, and its commits are on
    /// the disk when they return.
    pub(crate) fn pool(&self, timeline: &Timeline) -> PgPool {
        let timeline = timeline.clone();
        pool_options(self.max_connections)
            .after_connect(move |connection, _metadata| {
                let timeline = timeline.clone();
                Box::pin(async move { prepare(connection, WORK, &timeline).await })
            })
            .connect_lazy_with(self.options.clone())
    }

    /// The connection that sends hints.
    pub(crate) fn sender(&self) -> PgPool {
        self.pool_of_one(SENDING)
    }

    /// A connection that receives hints, in a separate pool, so that nothing else waits for a dead connection.
    pub(crate) fn listener(&self) -> PgPool {
        self.pool_of_one("")
    }

    fn pool_of_one(&self, settings: &'static str) -> PgPool {
        pool_options(1)
            .after_connect(move |connection, _metadata| {
                Box::pin(async move { set(connection, settings).await })
            })
            .connect_lazy_with(self.options.clone())
    }
}

/// Makes a new connection ready for work.
async fn prepare(
    connection: &mut PgConnection,
    settings: &'static str,
    timeline: &Timeline,
) -> Result<(), sqlx::Error> {
    set(connection, settings).await?;
    // Commits wait for the disk, whatever the server's configuration is for other sessions: the permissions of
    // Terraform must survive a crash of the server.
    sqlx::query(
        "-- prepare: commits wait for the disk
        SELECT set_config('synchronous_commit', 'on', FALSE)
        WHERE current_setting('synchronous_commit') = 'off'",
    )
    .execute(&mut *connection)
    .await?;
    timeline.check(connection).await
}

/// Applies settings by statements, because poolers do not pass on start-up options.
async fn set(connection: &mut PgConnection, settings: &'static str) -> Result<(), sqlx::Error> {
    let settings = AssertSqlSafe(format!("{SESSION}\n{settings}"));
    raw_sql(settings).execute(connection).await?;
    Ok(())
}

fn pool_options(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECT_LIMIT)
        .idle_timeout(IDLE_LIFE)
        .max_lifetime(CONNECTION_LIFE)
        .test_before_acquire(false)
        .before_acquire(|connection, past| {
            Box::pin(async move {
                if past.idle_for > TRUSTED_FOR {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
}

fn trusting(options: PgConnectOptions, ca_cert: Option<&Path>) -> PgConnectOptions {
    if let Some(ca_cert) = ca_cert {
        return options.ssl_root_cert(ca_cert);
    }
    let verified = matches!(
        options.get_ssl_mode(),
        PgSslMode::VerifyCa | PgSslMode::VerifyFull
    );
    let bundle = SYSTEM_BUNDLES.iter().find(|path| Path::new(path).is_file());
    match bundle.filter(|_| verified) {
        Some(path) => options.ssl_root_cert(path),
        None => options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_user_in_the_address_the_user_of_the_process_counts() {
        let options: PgConnectOptions = "postgres://db.example/cts".parse().unwrap();
        // The library uses these names for a user that it cannot find.
        assert!(!["anonymous", "unknown"].contains(&options.get_username()));
    }
}
