//! State of a database and of its server, read for `cts doctor` (docs/cli.md#cts-doctor). Nothing is changed.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cts_store::{AppliedState, StoreError};
use cts_store_sql::restored;
use sqlx::postgres::PgSslMode;
use sqlx::{Connection as _, FromRow, PgConnection};

use crate::call::shared;
use crate::connection::{Settings, Target};
use crate::schema::{OLDEST_SERVER, SchemaState};

/// State of a database and of its server.
#[derive(Debug)]
pub struct Inspection {
    /// Address and name of the database, without credentials.
    pub location: String,
    /// `sslmode` of the address.
    pub tls_mode: TlsMode,
    pub server: ServerState,
    /// Time of the server at its answer.
    pub now: DateTime<Utc>,
    /// The schema; `None` if the server is too old to be used.
    pub schema: Option<SchemaState>,
    /// Missing rights of the user, by the object: the schema or a table.
    pub missing_rights: BTreeMap<String, Vec<String>>,
}

/// Extent of the verification of the server when a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// The server is on this machine, so TLS is not needed.
    Local,
    /// `verify-full`: certificate and name.
    Verified,
    /// Any weaker verification.
    Unverified,
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct ServerState {
    /// Its version, in the form that the server prints.
    pub version: String,
    /// Whether the version is new enough.
    #[sqlx(skip)]
    pub is_supported: bool,
    version_number: i32,
    /// Encoding of the database.
    pub encoding: String,
    /// Whether this connection is encrypted.
    pub is_encrypted: bool,
    /// Whether the server is a replica, which refuses writes.
    pub is_replica: bool,
    /// Whether the settings of the server forbid writes.
    pub is_read_only: bool,
    /// `synchronous_standby_names`; empty without synchronous replication.
    pub synchronous_names: String,
    /// Connected replicas that confirm each commit.
    pub synchronous_replicas: i64,
    /// Connected replicas.
    pub replicas: i64,
    /// Maximum number of connections of the server.
    pub max_connections: i32,
}

/// Reads the state. Fails without a connection.
pub async fn inspect(settings: &Settings) -> Result<Inspection, StoreError> {
    let target = Target::new(settings)?;
    let mut connection = target.single().await?;
    let read = read(&target, settings, &mut connection).await;
    let closed = connection.close().await;
    let read = read?;
    closed.map_err(|error| target.open_error(error))?;
    Ok(read)
}

/// The states of all tasks with an input that counts as applied. Fails without a connection or a schema.
pub async fn applied_states(settings: &Settings) -> Result<Vec<AppliedState>, StoreError> {
    let target = Target::new(settings)?;
    let mut connection = target.single().await?;
    let read = restored::applied_states(&mut shared(&mut connection)).await;
    let closed = connection.close().await;
    let read = read?;
    closed.map_err(|error| target.open_error(error))?;
    Ok(read)
}

async fn read(
    target: &Target,
    settings: &Settings,
    connection: &mut PgConnection,
) -> Result<Inspection, StoreError> {
    let failed = |error: sqlx::Error| target.open_error(error);
    let now = sqlx::query_scalar("-- inspect: the clock\n SELECT clock_timestamp()");
    let now = now.fetch_one(&mut *connection).await.map_err(failed)?;
    let server = server(connection).await.map_err(failed)?;
    let schema = if server.is_supported {
        Some(SchemaState::read(target, connection).await?)
    } else {
        None
    };
    Ok(Inspection {
        location: target.location().to_owned(),
        tls_mode: tls_mode(target, settings),
        schema,
        missing_rights: missing_rights(connection).await.map_err(failed)?,
        server,
        now,
    })
}

fn tls_mode(target: &Target, settings: &Settings) -> TlsMode {
    if crate::is_unverified_over_network(&settings.url) {
        TlsMode::Unverified
    } else if matches!(target.tls_mode(), PgSslMode::VerifyFull) {
        TlsMode::Verified
    } else {
        TlsMode::Local
    }
}

async fn server(connection: &mut PgConnection) -> Result<ServerState, sqlx::Error> {
    let server: ServerState = sqlx::query_as(
        "-- inspect: the server
        SELECT current_setting('server_version') AS version,
               current_setting('server_version_num')::INTEGER AS version_number,
               pg_encoding_to_char(encoding)::TEXT AS encoding,
               coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), FALSE) AS is_encrypted,
               pg_is_in_recovery() AS is_replica,
               current_setting('default_transaction_read_only')::BOOLEAN AS is_read_only,
               current_setting('synchronous_standby_names') AS synchronous_names,
               (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))
                   AS synchronous_replicas,
               (SELECT count(*) FROM pg_stat_replication) AS replicas,
               current_setting('max_connections')::INTEGER AS max_connections
        FROM pg_database WHERE datname = current_database()",
    )
    .fetch_one(connection)
    .await?;
    Ok(ServerState {
        is_supported: server.version_number >= OLDEST_SERVER,
        ..server
    })
}

/// Finds missing rights: the schema must be usable, and each of its tables readable and writable. Only `cts migrate`,
/// which may use a different user, needs the right to create in the schema.
async fn missing_rights(
    connection: &mut PgConnection,
) -> Result<BTreeMap<String, Vec<String>>, sqlx::Error> {
    let rows: Vec<(String, String)> = sqlx::query_as(
        "-- inspect: rights
        SELECT 'schema ' || quote_ident(current_schema()), 'USAGE'
        WHERE NOT has_schema_privilege(current_schema(), 'USAGE')
        UNION ALL
        SELECT 'table ' || tables.oid::REGCLASS::TEXT, wanted.name
        FROM pg_class AS tables
        CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS wanted (name)
        WHERE tables.relkind IN ('r', 'p')
          AND tables.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
          AND tables.relname <> '_sqlx_migrations'
          AND NOT has_table_privilege(tables.oid, wanted.name)
        ORDER BY 1, 2",
    )
    .fetch_all(connection)
    .await?;
    let mut missing = BTreeMap::<String, Vec<String>>::new();
    for (object, right) in rows {
        missing.entry(object).or_default().push(right);
    }
    Ok(missing)
}
