//! The schema: whether this program knows it, and how it is brought up to date.

use cts_store::schema::{SchemaPlan, StoredSchema};
use sqlx::migrate::{Migrate as _, MigrateError, Migrator};
use sqlx::{Connection as _, SqliteConnection};

static MIGRATIONS: Migrator = sqlx::migrate!();

/// Makes the schema before the first version that of the first one.
const MOVE: &str = include_str!("../predecessor/move.sql");

/// Where the driver's migrations keep their books.
const TABLE: &str = "_sqlx_migrations";

/// Why the schema could not be brought up to date.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrationError {
    /// The file has a schema that this program cannot work with.
    #[error(transparent)]
    Mismatch(#[from] cts_store::schema::SchemaMismatch),
    /// A statement failed.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The file could not be read.
    #[error(transparent)]
    Read(#[from] sqlx::Error),
}

impl MigrationError {
    /// What went wrong, as callers of the store see it.
    pub(crate) fn into_cause(self) -> Box<dyn std::error::Error + Send + Sync> {
        match self {
            Self::Mismatch(mismatch) => mismatch.into(),
            Self::Migrate(error) => error.into(),
            Self::Read(error) => error.into(),
        }
    }
}

/// Brings the schema up to date, each migration in a transaction of its own.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), MigrationError> {
    let SchemaPlan { mut moves, missing } = plan(&stored(connection).await?)?;
    connection.ensure_migrations_table(TABLE).await?;
    for migration in MIGRATIONS.iter() {
        if !missing.contains(&migration.version) {
            continue;
        }
        if std::mem::take(&mut moves) {
            let mut transaction = connection.begin().await?;
            sqlx::raw_sql(MOVE).execute(&mut *transaction).await?;
            sqlx::query(
                "-- migrate: what the move has done
                INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                VALUES (?, ?, TRUE, ?, 0)",
            )
            .bind(migration.version)
            .bind(&*migration.description)
            .bind(&*migration.checksum)
            .execute(&mut *transaction)
            .await?;
            transaction.commit().await?;
        } else {
            connection.apply(TABLE, migration).await?;
        }
    }
    Ok(())
}

/// What is to be done before this program can work with such a schema.
pub(crate) fn plan(stored: &StoredSchema) -> Result<SchemaPlan, cts_store::schema::SchemaMismatch> {
    let own = MIGRATIONS.iter();
    stored.plan(own.map(|migration| (migration.version, &*migration.checksum)))
}

/// What the file says of its schema; nothing if it is empty.
pub(crate) async fn stored(connection: &mut SqliteConnection) -> Result<StoredSchema, sqlx::Error> {
    let (is_ours, has_oldest): (bool, bool) = sqlx::query_as(
        "-- schema: whether there is anything
        SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'),
               EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'schema_compatibility')",
    )
    .fetch_one(&mut *connection)
    .await?;
    let mut stored = StoredSchema::default();
    if is_ours {
        let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
            "-- schema
            SELECT version, checksum FROM _sqlx_migrations WHERE success",
        )
        .fetch_all(&mut *connection)
        .await?;
        stored.applied = rows.into_iter().collect();
    }
    if has_oldest {
        stored.oldest = sqlx::query_scalar("-- schema\nSELECT oldest FROM schema_compatibility")
            .fetch_optional(connection)
            .await?;
    }
    Ok(stored)
}
