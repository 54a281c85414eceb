//! The schema: its check and its migrations.

use cts_store::StoreError;
use cts_store::schema::SchemaMismatch;
use cts_store_sql::schema::stored;
use sqlx::migrate::{Migrate as _, MigrateError, Migrator};
use sqlx::{Connection as _, PgConnection};

use crate::call::shared;
use crate::connection::{Settings, Target};
use crate::pooling;

static MIGRATIONS: Migrator = sqlx::migrate!();

/// The table in which the driver records migrations.
const TABLE: &str = "_sqlx_migrations";

/// Version 13, in the server's notation.
pub(crate) const OLDEST_SERVER: i32 = 130_000;

/// Why a database cannot be used. Found as the source of [`StoreError::Open`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The database is empty or was migrated by an older program.
    #[error("its schema is older than this program: run `cts migrate` ({missing} to apply)")]
    Older {
        /// Number of missing migrations.
        missing: usize,
    },
    /// This program cannot bring the database up to date.
    #[error(transparent)]
    Mismatch(#[from] SchemaMismatch),
    /// The server itself is too old.
    #[error("its server is Postgres {version}, at least 13 is needed")]
    OldServer {
        /// The version as reported by the server.
        version: String,
    },
    /// The encoding of the database cannot represent every text.
    #[error("its encoding is {encoding}, UTF8 is needed")]
    Encoding {
        /// The encoding as reported by the server.
        encoding: String,
    },
}

/// One step of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedMigration {
    /// Its number, increasing.
    pub version: i64,
    /// Purpose of the migration, in a few words.
    pub description: String,
}

/// Brings the schema up to date and returns the applied migrations, oldest first.
///
/// Simultaneous calls of two processes wait for each other. Refuses a schema of a newer program that this program
/// cannot work with.
pub async fn migrate(settings: &Settings) -> Result<Vec<AppliedMigration>, StoreError> {
    let target = Target::new(settings)?;
    let mut connection = target.single().await?;
    check_server(&target, &mut connection).await?;
    connection
        .lock()
        .await
        .map_err(|error| target.open_error(error))?;
    // Planned under the lock: migrations that a different process has just applied are not reported as applied by
    // this process.
    let missing = missing(&target, &mut connection).await?;
    apply(&missing, &mut connection)
        .await
        .map_err(|error| target.open_error(error))?;
    // Closing also releases the lock.
    let closed = connection.close().await;
    closed.map_err(|error| target.open_error(error))?;
    Ok(steps(&missing))
}

/// Applies each migration in a separate transaction.
async fn apply(missing: &[i64], connection: &mut PgConnection) -> Result<(), MigrateError> {
    connection.ensure_migrations_table(TABLE).await?;
    for migration in MIGRATIONS.iter() {
        if missing.contains(&migration.version) {
            connection.apply(TABLE, migration).await?;
        }
    }
    Ok(())
}

/// The migrations that [`migrate`] would apply, oldest first. Changes nothing.
pub async fn pending(settings: &Settings) -> Result<Vec<AppliedMigration>, StoreError> {
    let target = Target::new(settings)?;
    let mut connection = target.single().await?;
    check_server(&target, &mut connection).await?;
    let missing = missing(&target, &mut connection).await?;
    let closed = connection.close().await;
    closed.map_err(|error| target.open_error(error))?;
    Ok(steps(&missing))
}

/// Whether the schema fits this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// The schema fits.
    Fits {
        /// Number of its newest migration.
        newest: i64,
        /// Whether a newer program migrated it.
        is_newer: bool,
    },
    /// Migrations are missing, oldest first.
    Older(Vec<AppliedMigration>),
    /// This program cannot work with the schema.
    Mismatch(SchemaMismatch),
}

impl SchemaState {
    /// Reads the state of the schema. Changes nothing.
    pub(crate) async fn read(
        target: &Target,
        connection: &mut PgConnection,
    ) -> Result<Self, StoreError> {
        let stored = stored(&mut shared(connection))
            .await
            .map_err(|error| target.open_error(error))?;
        let own = MIGRATIONS.iter();
        let newest_own = own.clone().map(|migration| migration.version).max();
        let newest = stored.applied.keys().next_back().copied();
        Ok(
            match stored.plan(own.map(|it| (it.version, &*it.checksum))) {
                Ok(missing) if missing.is_empty() => Self::Fits {
                    newest: newest.unwrap_or_default(),
                    is_newer: newest > newest_own,
                },
                Ok(missing) => Self::Older(steps(&missing)),
                Err(mismatch) => Self::Mismatch(mismatch),
            },
        )
    }
}

/// Refuses a server, a pooler in front of it, or a schema that this program cannot work with.
pub(crate) async fn check(target: &Target) -> Result<(), StoreError> {
    let mut connection = target.single().await?;
    check_server(target, &mut connection).await?;
    let missing = missing(target, &mut connection).await?;
    if !missing.is_empty() {
        let missing = missing.len();
        return Err(target.open_error(SchemaError::Older { missing }));
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

/// Numbers of the migrations to apply, oldest first.
async fn missing(target: &Target, connection: &mut PgConnection) -> Result<Vec<i64>, StoreError> {
    let stored = stored(&mut shared(connection))
        .await
        .map_err(|error| target.open_error(error))?;
    let own = MIGRATIONS.iter();
    stored
        .plan(own.map(|migration| (migration.version, &*migration.checksum)))
        .map_err(|mismatch| target.open_error(SchemaError::from(mismatch)))
}

fn steps(missing: &[i64]) -> Vec<AppliedMigration> {
    let missing = MIGRATIONS
        .iter()
        .filter(|migration| missing.contains(&migration.version));
    missing
        .map(|migration| AppliedMigration {
            version: migration.version,
            description: migration.description.to_string(),
        })
        .collect()
}
