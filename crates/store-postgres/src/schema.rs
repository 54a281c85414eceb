//! The schema: whether this program knows it, and how it is brought up to date.

use std::collections::BTreeMap;

use cts_store::StoreError;
use sqlx::migrate::{Migrate as _, MigrateError, Migrator};
use sqlx::{Connection as _, PgConnection};

use crate::connection::{Settings, Target};
use crate::pooling;

static MIGRATIONS: Migrator = sqlx::migrate!();

/// Where the driver's migrations keep their books.
const TABLE: &str = "_sqlx_migrations";

/// Version 13, in the server's form.
const OLDEST_SERVER: i32 = 130_000;

/// Why a database cannot be used as it is. Found as the source of [`StoreError::Open`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It is empty or was made by an older program.
    #[error("its schema is older than this program: run `cts migrate` ({missing} to apply)")]
    Older {
        /// How many migrations are missing.
        missing: usize,
    },
    /// It was made by a newer program.
    #[error("this program is older than the database, which knows schema version {version}")]
    Newer {
        /// The newest version there.
        version: i64,
    },
    /// A migration has another content than the one that was applied.
    #[error("schema version {version} in the database is not the one of this program")]
    Changed {
        /// The version.
        version: i64,
    },
    /// The server itself is too old.
    #[error("its server is Postgres {version}, at least 13 is needed")]
    OldServer {
        /// The version as the server names it.
        version: String,
    },
    /// The database cannot hold every text.
    #[error("its encoding is {encoding}, UTF8 is needed")]
    Encoding {
        /// The encoding as the server names it.
        encoding: String,
    },
}

/// One step of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedMigration {
    /// Its number, increasing.
    pub version: i64,
    /// What it is for, in a word or two.
    pub description: String,
}

/// Brings the schema up to date and returns what was applied, the oldest first. Of two that do this at
/// the same time one waits for the other. Refuses a schema that is newer than this program.
pub async fn migrate(settings: &Settings) -> Result<Vec<AppliedMigration>, StoreError> {
    let target = Target::new(settings)?;
    let mut connection = target.single().await?;
    check_server(&target, &mut connection).await?;
    connection
        .lock()
        .await
        .map_err(|error| target.open_error(error))?;
    // Asked behind the lock: what another has applied meanwhile is not reported as ours.
    let missing = missing(&target, &mut connection).await?;
    apply(&missing, &mut connection)
        .await
        .map_err(|error| target.open_error(error))?;
    // Ends the lock as well.
    let closed = connection.close().await;
    closed.map_err(|error| target.open_error(error))?;
    Ok(missing)
}

/// Each in a transaction of its own.
async fn apply(
    missing: &[AppliedMigration],
    connection: &mut PgConnection,
) -> Result<(), MigrateError> {
    connection.ensure_migrations_table(TABLE).await?;
    for migration in MIGRATIONS.iter() {
        if missing.iter().any(|one| one.version == migration.version) {
            connection.apply(TABLE, migration).await?;
        }
    }
    Ok(())
}

/// The migrations that [`migrate`] would apply, the oldest first. Changes nothing.
pub async fn pending(settings: &Settings) -> Result<Vec<AppliedMigration>, StoreError> {
    let target = Target::new(settings)?;
    let mut connection = target.single().await?;
    check_server(&target, &mut connection).await?;
    let missing = missing(&target, &mut connection).await?;
    let closed = connection.close().await;
    closed.map_err(|error| target.open_error(error))?;
    Ok(missing)
}

/// Refuses a server, a pooler before it, or a schema that this program cannot work with.
pub(crate) async fn check(target: &Target) -> Result<(), StoreError> {
    let mut connection = target.single().await?;
    check_server(target, &mut connection).await?;
    let missing = missing(target, &mut connection).await?;
    if !missing.is_empty() {
        return Err(target.open_error(SchemaError::Older {
            missing: missing.len(),
        }));
    }
    let closed = connection.close().await;
    closed.map_err(|error| target.open_error(error))
}

async fn check_server(target: &Target, connection: &mut PgConnection) -> Result<(), StoreError> {
    pooling::check(target, connection).await?;
    let server: (i32, String, String) = sqlx::query_as(
        "-- check_server
        SELECT current_setting('server_version_num')::INTEGER,
               current_setting('server_version'),
               pg_encoding_to_char(encoding)
        FROM pg_database WHERE datname = current_database()",
    )
    .fetch_one(connection)
    .await
    .map_err(|error| target.open_error(error))?;
    let (number, version, encoding) = server;
    if number < OLDEST_SERVER {
        return Err(target.open_error(SchemaError::OldServer { version }));
    }
    if encoding != "UTF8" {
        return Err(target.open_error(SchemaError::Encoding { encoding }));
    }
    Ok(())
}

async fn missing(
    target: &Target,
    connection: &mut PgConnection,
) -> Result<Vec<AppliedMigration>, StoreError> {
    let applied = applied(connection)
        .await
        .map_err(|error| target.open_error(error))?;
    let known = |version: i64| MIGRATIONS.version_exists(version);
    if let Some(&version) = applied.keys().rev().find(|version| !known(**version)) {
        return Err(target.open_error(SchemaError::Newer { version }));
    }
    let mut missing = Vec::new();
    for migration in MIGRATIONS.iter() {
        let version = migration.version;
        match applied.get(&version) {
            None => missing.push(AppliedMigration {
                version,
                description: migration.description.to_string(),
            }),
            Some(checksum) if *checksum == *migration.checksum => {}
            Some(_other) => return Err(target.open_error(SchemaError::Changed { version })),
        }
    }
    Ok(missing)
}

/// Versions and checksums of what was applied; nothing in an empty database.
async fn applied(connection: &mut PgConnection) -> Result<BTreeMap<i64, Vec<u8>>, sqlx::Error> {
    let exists: bool = sqlx::query_scalar(
        "-- applied: whether there is anything
        SELECT to_regclass('_sqlx_migrations') IS NOT NULL",
    )
    .fetch_one(&mut *connection)
    .await?;
    if !exists {
        return Ok(BTreeMap::new());
    }
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "-- applied
        SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version",
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}
