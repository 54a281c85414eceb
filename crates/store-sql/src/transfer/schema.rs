//! Reads the schema of a database.

use cts_store::fields::{ColumnError, Columns as _};
use cts_store::schema::StoredSchema;

use crate::Connection;

/// Reads the schema information; empty if the database is empty.
pub async fn stored(c: &mut dyn Connection) -> Result<StoredSchema, ColumnError> {
    let tables = c.dialect().pick(
        "-- schema: whether there is anything
        SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations') AS is_ours,
               EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'schema_compatibility') AS has_oldest",
        "-- schema: whether there is anything
        SELECT to_regclass('_sqlx_migrations') IS NOT NULL AS is_ours,
               to_regclass('schema_compatibility') IS NOT NULL AS has_oldest",
    );
    let tables = c.fetch(tables.into(), Vec::new(), true).await?;
    let exists = |column| match tables.first() {
        Some(row) => row.flag(column).map(|exists| exists == Some(true)),
        None => Ok(false),
    };
    let mut stored = StoredSchema::default();
    if exists("is_ours")? {
        let text = "-- schema
            SELECT version, checksum FROM _sqlx_migrations WHERE success";
        for row in c.fetch(text.into(), Vec::new(), false).await? {
            let version = row.integer("version")?.unwrap_or_default();
            let checksum = row.bytes("checksum")?.unwrap_or_default();
            stored.applied.insert(version, checksum);
        }
    }
    if exists("has_oldest")? {
        let text = "-- schema\nSELECT oldest FROM schema_compatibility";
        let oldest = c.fetch(text.into(), Vec::new(), true).await?;
        if let Some(row) = oldest.first() {
            stored.oldest = row.integer("oldest")?;
        }
    }
    Ok(stored)
}
