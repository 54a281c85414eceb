//! A long history of runs in a database with the schema of cts, made by the database itself.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// Ended runs to be made of every task that is stored, with inputs, events and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// So many of each task.
    pub runs_per_task: u32,
    /// Lines in the log of each run.
    pub lines_per_run: u32,
    /// How long ago the first of them ended. The last one ended just now.
    pub span: Duration,
}

impl History {
    /// Adds the history to the database at `url`, whose user has to be a superuser and which must have no other
    /// user at that time. Statistics are not made.
    pub async fn add(self, url: &str) {
        if let Err(error) = self.try_add(url).await {
            panic!("no history can be made: {error}");
        }
    }

    async fn try_add(self, url: &str) -> Result<(), sqlx::Error> {
        let options: PgConnectOptions = url.parse()?;
        let mut connection = PgConnection::connect_with(&options).await?;
        for statement in self.statements() {
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await?;
        }
        connection.close().await
    }

    fn statements(self) -> [String; 7] {
        let Self {
            runs_per_task,
            lines_per_run,
            span,
        } = self;
        let span = span.as_micros();
        [
            // The rows refer to each other by construction, and `auto_explain` is not to explain these
            // statements.
            "SET session_replication_role = replica; SET auto_explain.log_min_duration = -1".to_owned(),
            // Indexes are made again in the end, which is quicker.
            "SET maintenance_work_mem = '256MB';
            CREATE TEMPORARY TABLE dropped AS
            SELECT i.indexrelid::REGCLASS::TEXT AS name, pg_get_indexdef(i.indexrelid) AS definition
            FROM pg_index i
            WHERE i.indrelid IN ('runs'::REGCLASS, 'events'::REGCLASS)
              AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid);
            DO $$
            DECLARE index TEXT;
            BEGIN
                FOR index IN SELECT name FROM dropped LOOP EXECUTE 'DROP INDEX ' || index; END LOOP;
            END $$"
                .to_owned(),
            // One input for the runs of a task whose numbers differ in the last digit only.
            format!(
                "INSERT INTO inputs (hash, created_at)
                SELECT encode(sha256(convert_to(t.name || '/' || n, 'UTF8')), 'hex'), cts_now()
                FROM tasks t CROSS JOIN generate_series(0, {runs_per_task} / 10) n"
            ),
            // One run of twenty was cancelled, one failed, one is a plan. The oldest first, as they would have
            // come. Ids are of version 7.
            format!(
                "INSERT INTO runs (id, task_name, incarnation, input_hash, kind, status, attempts, epoch, due_at,
                                   started_at, finished_at, created_at, updated_at)
                SELECT (lpad(to_hex(at / 1000), 12, '0') || '7' || substr(noise, 1, 3) || '8'
                            || substr(noise, 4, 15))::UUID,
                       name, incarnation, encode(sha256(convert_to(name || '/' || n / 10, 'UTF8')), 'hex'),
                       CASE n % 20 WHEN 2 THEN 'plan' ELSE 'apply' END,
                       CASE n % 20 WHEN 0 THEN 'cancelled' WHEN 1 THEN 'failed' ELSE 'succeeded' END,
                       1, 1, at, at, at + 1000, at, at + 1000
                FROM (SELECT t.name, t.incarnation, n, md5(t.name || n) AS noise,
                             cts_now() - {span} + ({span} / {runs_per_task}) * n AS at
                      FROM generate_series(1, {runs_per_task}) n CROSS JOIN tasks t) made
                ORDER BY n, name"
            ),
            "INSERT INTO events (id, task_name, incarnation, run_id, success, start_time, end_time, error, config)
            SELECT id, task_name, incarnation, id, status = 'succeeded', started_at, finished_at,
                   CASE status WHEN 'failed' THEN 'it failed' END, '{\"providers\":[],\"services\":[],\"source\":\"\"}'
            FROM runs
            WHERE status IN ('succeeded', 'failed') AND kind = 'apply'
              AND NOT EXISTS (SELECT FROM events e WHERE e.run_id = runs.id)
            ORDER BY runs.id"
                .to_owned(),
            format!(
                "INSERT INTO log_lines (run_id, position, stream, line)
                SELECT id, n, 'stdout', 'line ' || n || ' of what Terraform says'
                FROM runs CROSS JOIN generate_series(1, {lines_per_run}) n
                WHERE status IN ('succeeded', 'failed')
                  AND NOT EXISTS (SELECT FROM log_lines l WHERE l.run_id = runs.id)"
            ),
            "DO $$
            DECLARE index TEXT;
            BEGIN
                FOR index IN SELECT definition FROM dropped LOOP EXECUTE index; END LOOP;
            END $$"
                .to_owned(),
        ]
    }
}
