//! The schema: its check and its migrations.

use cts_store::schema::{SchemaMismatch, StoredSchema};
use cts_store_sql::schema::stored;
use sqlx::SqliteConnection;
use sqlx::migrate::{Migrate as _, Migrator};

use crate::call::shared;
use crate::pools::OpenError;

static MIGRATIONS: Migrator = sqlx::migrate!();

/// The table in which the driver records migrations.
const TABLE: &str = "_sqlx_migrations";

/// Brings the schema up to date, each migration in a separate transaction. A [`SchemaMismatch`] is returned
/// unwrapped, so that callers of the store find it.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let stored = stored(&mut shared(connection, 0)).await?;
    let missing = plan(&stored)?;
    connection.ensure_migrations_table(TABLE).await?;
    for migration in MIGRATIONS.iter() {
        if missing.contains(&migration.version) {
            connection.apply(TABLE, migration).await?;
        }
    }
    Ok(())
}

/// Numbers of the migrations before this program can work with such a schema.
pub(crate) fn plan(stored: &StoredSchema) -> Result<Vec<i64>, SchemaMismatch> {
    let own = MIGRATIONS.iter();
    stored.plan(own.map(|migration| (migration.version, &*migration.checksum)))
}
