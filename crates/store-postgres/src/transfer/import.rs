//! Moves rows into an empty database.

use cts_store::StoreError;
use cts_store_sql::export::{Counts, SqlExport};
use cts_store_sql::page::{Cells, Page};
use cts_store_sql::restored::{NO_CONSENT, NOTHING_APPLIED};
use cts_store_sql::tables::{Kind, TABLES};
use futures::TryStreamExt as _;
use sqlx::{AssertSqlSafe, PgConnection};

use super::empty::refuse_content;
use crate::call::storable;
use crate::connection::{Settings, Target};
use crate::schema;
use cts_store_sql::failed_to;

const OPERATION: &str = "write what is moved";

/// Rules for rows that change during the move, and for the numbers of later rows. The leader, replicas and workers do
/// not move, so a running run changes as if its lease had been taken back.
const RULES: [&str; 9] = [
    "-- import: the input of a run that is being cancelled stays withheld
    UPDATE tasks SET cancelled_input = r.input_hash
    FROM runs r
    WHERE cancelled_input IS NULL AND r.task_name = tasks.name AND r.status = 'running'
      AND r.kind = 'apply' AND r.cancel_requested_at IS NOT NULL",
    "-- import: the attempt that the move cuts off does not count
    UPDATE runs SET attempts = greatest(attempts - 1, 0) WHERE status = 'running'",
    "-- import: runs whose task did not move are cancelled, and running runs that are withdrawn, cancelled or replaced
    UPDATE runs r
    SET status = 'cancelled', finished_at = updated_at, holder = NULL, expires_at = NULL
    WHERE status IN ('queued', 'running')
      AND (NOT EXISTS (SELECT 1 FROM tasks t
                       WHERE t.name = r.task_name AND t.incarnation = r.incarnation)
           OR status = 'running'
              AND (withdrawn OR cancel_requested_at IS NOT NULL
                   OR kind = 'apply' AND EXISTS (
                       SELECT 1 FROM runs q
                       WHERE q.task_name = r.task_name AND q.status = 'queued' AND q.kind = 'apply')))",
    "-- import: other running runs are queued again
    UPDATE runs SET status = 'queued', holder = NULL, expires_at = NULL WHERE status = 'running'",
    "-- import: the leases have ended
    UPDATE runs SET withdrawn = FALSE, cancel_requested_at = NULL
    WHERE withdrawn OR cancel_requested_at IS NOT NULL",
    "-- import: later events come after these events
    SELECT setval(pg_get_serial_sequence('events', 'position'), max(position))
    FROM events HAVING max(position) IS NOT NULL",
    "-- import: later tasks have other incarnations
    SELECT setval('task_incarnations', greatest(
        1, (SELECT max(incarnation) FROM tasks), (SELECT max(incarnation) FROM runs)))",
    "-- import: later records come after these records
    UPDATE audit_head SET number = greatest(
        number, (SELECT coalesce(max(number), 0) FROM audit_records))",
    "ANALYZE tasks, inputs, runs, events, log_lines",
];

/// Removes the key of a database without plans: fingerprints of the source keep their meaning.
const NO_FINGERPRINTS: &str = "-- import: the key of the source counts\nDELETE FROM plan_key";

/// One transaction that fills a database. Without a commit it has no effect. Other writers wait until it ends.
#[derive(Debug)]
pub struct PostgresImport {
    connection: PgConnection,
}

impl PostgresImport {
    /// Connects, and refuses a schema that does not fit this program, and a database with tasks or runs:
    /// [`NotEmpty`](super::empty::NotEmpty) is then the source of the [`StoreError::Open`].
    pub async fn begin(settings: &Settings) -> Result<Self, StoreError> {
        let target = Target::new(settings)?;
        schema::check(&target).await?;
        let mut connection = target.single().await?;
        // Writers of audit records lock the head first.
        let tables = TABLES.map(|table| table.name).join(", ");
        let lock = format!("LOCK TABLE audit_head, {tables}, run_requests IN EXCLUSIVE MODE");
        for statement in ["BEGIN", "SET LOCAL lock_timeout = '10s'", &lock] {
            sqlx::query(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await
                .map_err(|error| target.open_error(error))?;
        }
        refuse_content(&target, &mut connection).await?;
        Ok(Self { connection })
    }

    /// Copies the moving rows, completely and in their order, with unchanged ids, epochs and times, and applies the
    /// rules. Reports after each page how many rows of its table are copied.
    pub async fn copy(
        &mut self,
        source: &mut SqlExport,
        mut progress: impl FnMut(&'static str, u64) + Send,
    ) -> Result<Counts, StoreError> {
        let mut counts = Counts::new();
        self.execute(NO_FINGERPRINTS).await?;
        for table in TABLES {
            let mut rows = 0;
            let mut pages = source.pages(table);
            while let Some(page) = pages.try_next().await? {
                rows += page.rows as u64;
                self.insert(page).await?;
                if !table.is_link() {
                    progress(table.name, rows);
                }
            }
            if !table.is_link() {
                counts.push((table.name, rows));
            }
        }
        let doubted = [NOTHING_APPLIED, NO_CONSENT];
        let doubted = doubted.into_iter().filter(|_| source.is_incomplete());
        for rule in doubted.chain(RULES) {
            self.execute(rule).await?;
        }
        Ok(counts)
    }

    async fn insert(&mut self, page: Page) -> Result<(), StoreError> {
        let (mut names, mut arrays, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (name, kind)) in (1..).zip(page.table.moving_columns()) {
            names.push(name);
            arrays.push(format!("${number}::{}[]", type_of(kind)));
            values.push(match kind.refers_to() {
                Some(other) => format!("(SELECT id FROM {other} WHERE hash = n.{name})"),
                None => name.to_owned(),
            });
        }
        let text = format!(
            "-- import: {table}
            INSERT INTO {table} ({names})
            SELECT {values} FROM unnest({arrays}) AS n ({names}) {existing}",
            table = page.table.name,
            names = names.join(", "),
            values = values.join(", "),
            arrays = arrays.join(", "),
            existing = if page.table.is_by_content() {
                "ON CONFLICT DO NOTHING"
            } else {
                ""
            },
        );
        let mut statement = sqlx::query(AssertSqlSafe(text));
        for cells in page.columns {
            statement = match cells {
                Cells::Texts(texts) => {
                    let texts = texts.into_iter().map(|text| text.map(Into::into));
                    statement.bind(texts.map(|text| text.map(storable)).collect::<Vec<_>>())
                }
                Cells::Integers(numbers) => statement.bind(numbers),
                Cells::Flags(flags) => statement.bind(flags),
                Cells::Bytes(bytes) => statement.bind(bytes),
                Cells::Ids(ids) => statement.bind(ids),
            };
        }
        let inserted = statement.execute(&mut self.connection).await;
        inserted.map_err(failed_to(OPERATION))?;
        Ok(())
    }

    async fn execute(&mut self, statement: &'static str) -> Result<(), StoreError> {
        let done = sqlx::query(statement).execute(&mut self.connection).await;
        done.map_err(failed_to(OPERATION))?;
        Ok(())
    }

    /// Commits the transaction.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        self.execute("COMMIT").await?;
        let closed = sqlx::Connection::close(self.connection).await;
        closed.map_err(failed_to(OPERATION))
    }
}

const fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Input | Kind::Content | Kind::Stays => "TEXT",
        Kind::Integer => "BIGINT",
        Kind::Flag => "BOOLEAN",
        Kind::Bytes => "BYTEA",
        Kind::Id => "UUID",
    }
}
