//! The schema: whether it fits this program, and how it is brought up to date.

use std::error::Error;

use cts_store::schema::{SchemaMismatch, SchemaPlan, StoredSchema};
use sqlx::migrate::{Migrate as _, Migrator};
use sqlx::{Connection as _, SqliteConnection};

static MIGRATIONS: Migrator = sqlx::migrate!();

/// Makes the schema before the first version that of the first one.
const MOVE: &str = include_str!("../predecessor/move.sql");

/// Where the driver's migrations keep their books.
const TABLE: &str = "_sqlx_migrations";

/// Brings the schema up to date, each migration in a transaction of its own. A [`SchemaMismatch`] is an error of its
/// own, so that callers of the store find it.
pub(crate) async fn migrate(
    connection: &mut SqliteConnection,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let SchemaPlan { mut moves, missing } = plan(&stored(connection).await?)?;
    connection.ensure_migrations_table(TABLE).await?;
    for migration in MIGRATIONS.iter() {
        if !missing.contains(&migration.version) {
            continue;
        }
        if std::mem::take(&mut moves) {
            let mut transaction = connection.begin().await?;
            sqlx::raw_sql(MOVE).execute(&mut *transaction).await?;
            transaction.skip(TABLE, migration).await?;
            transaction.commit().await?;
        } else {
            connection.apply(TABLE, migration).await?;
        }
    }
    Ok(())
}

/// Plans the steps before this program can work with such a schema.
pub(crate) fn plan(stored: &StoredSchema) -> Result<SchemaPlan, SchemaMismatch> {
    let own = MIGRATIONS.iter();
    stored.plan(own.map(|migration| (migration.version, &*migration.checksum)))
}

/// Reads the schema information of the file; empty if the file is empty.
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
