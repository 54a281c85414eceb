//! Statistics of the tables, for the planner of Postgres.
//!
//! A connection keeps the plans of its statements until new statistics exist. Plans for a table with few rows read
//! the whole table, and autovacuum checks once a minute at best: until then a fast-growing table would be read
//! completely again and again.

use cts_store::StoreError;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::row::failed_to;

const OPERATION: &str = "make statistics";

/// Number of pages up to which reading a whole table is fast.
const SMALL: i64 = 8;

/// Updates the statistics of the table that has grown most, if it is more than twice as large as at its last
/// statistics.
pub(crate) async fn follow(connection: &mut PgConnection) -> Result<(), StoreError> {
    let outgrown: Option<String> = sqlx::query_scalar(
        "-- statistics: a table that has outgrown them, of those that grow with the work
        SELECT relname::TEXT FROM pg_class
        WHERE oid = ANY (ARRAY['tasks', 'inputs', 'runs', 'events', 'log_lines']::REGCLASS[])
          AND pg_has_role(relowner, 'USAGE')
          AND pg_relation_size(oid) / current_setting('block_size')::INTEGER
              > 2 * greatest(relpages, $1)
        ORDER BY pg_relation_size(oid) / greatest(relpages, 1) DESC LIMIT 1",
    )
    .bind(SMALL)
    .fetch_optional(&mut *connection)
    .await
    .map_err(failed_to(OPERATION))?;
    if let Some(table) = outgrown {
        // Does not wait for a different process that updates statistics.
        let analyze = format!("-- statistics\nANALYZE (SKIP_LOCKED) {table}");
        sqlx::raw_sql(AssertSqlSafe(analyze))
            .execute(&mut *connection)
            .await
            .map_err(failed_to(OPERATION))?;
    }
    Ok(())
}
