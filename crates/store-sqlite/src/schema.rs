//! The schema: its check and its migrations.

use cts_store::schema::{SchemaMismatch, SchemaPlan, StoredSchema};
use cts_store_sql::schema::stored;
use sqlx::migrate::{Migrate as _, Migrator};
use sqlx::{Connection as _, SqliteConnection};

use crate::call::shared;
use crate::pools::OpenError;

static MIGRATIONS: Migrator = sqlx::migrate!();

/// Turns the schema before the first version into that of the first version.
const MOVE: &str = include_str!("../predecessor/move.sql");

/// The table in which the driver records migrations.
const TABLE: &str = "_sqlx_migrations";

/// Brings the schema up to date, each migration in a separate transaction. A [`SchemaMismatch`] is returned
/// unwrapped, so that callers of the store find it.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), OpenError> {
    let stored = stored(&mut shared(connection, 0)).await?;
    let SchemaPlan { mut moves, missing } = plan(&stored)?;
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
