//! Statistics of the tables, for the planner of Postgres.
//!
//! A connection keeps the plans of its statements until there are new statistics. Plans for a table with some
//! rows read all of it, and autovacuum looks once a minute at best: until then a table that grows fast would
//! be read again and again.

use cts_store::StoreError;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::row::failed_to;

const OPERATION: &str = "make statistics";

/// Pages of a table that is read quickly.
const SMALL: i64 = 8;

/// Makes the statistics of one table that has grown to more than twice its size since they were last made:
/// the one that has grown most.
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
        // Does not wait for another process that makes statistics.
        let analyze = format!("-- statistics\nANALYZE (SKIP_LOCKED) {table}");
        sqlx::raw_sql(AssertSqlSafe(analyze))
            .execute(&mut *connection)
            .await
            .map_err(failed_to(OPERATION))?;
    }
    Ok(())
}
