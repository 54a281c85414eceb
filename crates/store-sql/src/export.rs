//! Reading everything in a database, to be moved into another store.

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use cts_core::ArchiveId;
use cts_store::fields::{Columns, Fields};
use cts_store::transfer::{
    BundleRow, ConfigurationRow, ContentRow, Counts, DeletedTaskRow, EventRow, Export, InputRow,
    LogLineRow, Rows, RunRow, Table, TaskRow, TickEventRow,
};
use cts_store::{
    AppliedState, Archive, ArchivedRow, StoreError, StoredRecord, StoredToken, decode,
};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};

use crate::{Connection, Decode, Row, archive, failed_to, inputs, restored, sql, tick_events};

/// A connection whose rows are read one after the other, without keeping them.
#[async_trait]
pub trait Stream: Connection + fmt::Debug {
    /// Runs a statement without arguments.
    fn stream(&mut self, text: Cow<'static, str>) -> BoxStream<'_, Result<Row, sqlx::Error>>;

    /// Closes the connection.
    async fn close(self: Box<Self>) -> Result<(), sqlx::Error>;
}

/// Reads one state of a database, however long it takes, and changes nothing.
#[derive(Debug)]
pub struct SqlExport {
    connection: Box<dyn Stream>,
    /// The last commits may be missing, so no input counts as applied, as with
    /// [`NOTHING_APPLIED`](crate::restored::NOTHING_APPLIED).
    incomplete: bool,
}

impl SqlExport {
    /// Reads over a connection that has begun a transaction.
    pub fn new(connection: impl Stream + 'static, incomplete: bool) -> Self {
        Self {
            connection: Box::new(connection),
            incomplete,
        }
    }

    /// As [`Store::archives`](cts_store::Store::archives); also during writes.
    pub async fn archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        archive::all(&mut *self.connection).await
    }

    /// As [`Store::archived_rows`](cts_store::Store::archived_rows); also during writes.
    pub async fn archived_rows(
        &mut self,
        archive: ArchiveId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<ArchivedRow>, StoreError> {
        archive::rows(&mut *self.connection, archive, after, limit).await
    }

    /// The states of all tasks with an input that counts as applied; also during writes.
    pub async fn applied_states(&mut self) -> Result<Vec<AppliedState>, StoreError> {
        if self.incomplete {
            return Ok(Vec::new());
        }
        restored::applied_states(&mut *self.connection).await
    }

    /// Closes the connection.
    pub async fn close(self) -> Result<(), StoreError> {
        let failed = failed_to(self.operation());
        self.connection.close().await.map_err(failed)
    }

    fn operation(&self) -> &'static str {
        let dialect = self.connection.dialect();
        dialect.pick("read the file", OPERATION)
    }

    fn rows<T: 'static>(&mut self, text: &'static str, decode: Decode<T>) -> Rows<'_, T> {
        let failed = failed_to(self.operation());
        let text = self.connection.dialect().text(text.into(), 0);
        let rows = self.connection.stream(text);
        rows.map(move |row| decode(&row.map_err(&failed)?)).boxed()
    }
}

#[async_trait]
impl Export for SqlExport {
    async fn counts(&mut self) -> Result<Counts, StoreError> {
        let counts = sql(self.operation(), COUNTS).one(&mut *self.connection, |row| {
            let row = Fields::new(row, OPERATION, "");
            let mut counts = Counts::default();
            for table in Table::ALL {
                counts.add(table, row.number(table.as_str())?);
            }
            Ok(counts)
        });
        counts.await
    }

    fn tasks(&mut self) -> Rows<'_, TaskRow> {
        let incomplete = self.incomplete;
        let tasks = self.rows(TASKS, decode::task_row);
        let tasks = tasks.map_ok(move |row| TaskRow {
            last_applied: row.last_applied.filter(|_| !incomplete),
            tried_input: row.tried_input.filter(|_| !incomplete),
            ..row
        });
        tasks.boxed()
    }

    fn deleted_tasks(&mut self) -> Rows<'_, DeletedTaskRow> {
        self.rows(DELETED_TASKS, decode::deleted_task_row)
    }

    fn configurations(&mut self) -> Rows<'_, ConfigurationRow> {
        self.rows(CONFIGURATIONS, decode::configuration_row)
    }

    fn contents(&mut self) -> Rows<'_, ContentRow> {
        self.rows(CONTENTS, content)
    }

    fn inputs(&mut self) -> Rows<'_, InputRow> {
        self.rows(INPUTS, input)
    }

    fn runs(&mut self) -> Rows<'_, RunRow> {
        self.rows(RUNS, decode::run_row)
    }

    fn events(&mut self) -> Rows<'_, EventRow> {
        self.rows(EVENTS, decode::event_row)
    }

    fn tick_events(&mut self) -> Rows<'_, TickEventRow> {
        self.rows(TICK_EVENTS, tick_events::moved)
    }

    fn log_lines(&mut self) -> Rows<'_, LogLineRow> {
        self.rows(LOG_LINES, decode::log_line_row)
    }

    fn bundles(&mut self) -> Rows<'_, BundleRow> {
        self.rows(BUNDLES, decode::bundle_row)
    }

    fn tokens(&mut self) -> Rows<'_, StoredToken> {
        self.rows(TOKENS, decode::stored_token)
    }

    fn audit_records(&mut self) -> Rows<'_, StoredRecord> {
        self.rows(AUDIT_RECORDS, decode::audit_record)
    }
}

/// Operation of errors about rows.
const OPERATION: &str = "read the database";

/// Numbers of rows. Tasks that are being created or deleted do not move; all runs do.
const COUNTS: &str = "-- export: counts
    SELECT (SELECT count(*) FROM tasks WHERE phase = 'ready') AS tasks,
           (SELECT count(*) FROM deleted_tasks) AS deleted_tasks,
           (SELECT count(*) FROM configuration_in_force) AS configuration_in_force,
           (SELECT count(*) FROM contents) AS contents, (SELECT count(*) FROM inputs) AS inputs,
           (SELECT count(*) FROM runs) AS runs, (SELECT count(*) FROM events) AS events,
           (SELECT count(*) FROM tick_events k JOIN tasks t ON t.name = k.task_name
            WHERE t.phase = 'ready') AS tick_events,
           (SELECT count(*) FROM log_lines) AS log_lines, (SELECT count(*) FROM bundles) AS bundles,
           (SELECT count(*) FROM access_tokens) AS access_tokens,
           (SELECT count(*) FROM audit_records) AS audit_records";

const TASKS: &str = "-- export: tasks
    SELECT name, position, incarnation, origin, revision, configured, spec, last_applied, tried_input,
           coalesce(cancelled_input, (
               SELECT r.input_hash FROM runs r
               WHERE r.task_name = tasks.name AND r.status = 'running' AND r.kind = 'apply'
                 AND r.cancel_requested_at IS NOT NULL)) AS cancelled_input, owes_run, applied_instances, released_instances, held,
           state_lineage, state_serial, state_moves, state_moved_serial, state_keep, state_from,
           state_conflict, state_conflict_at, state_recorded_at, state_refused,
           delivery, delivery_first_run, delivery_run, delivery_input, remote_run, last_check, failures, skipped, created_at, updated_at
    FROM tasks WHERE phase = 'ready' ORDER BY position, name";

/// Tasks that the API has deleted.
const DELETED_TASKS: &str = "-- export: deleted tasks
    SELECT name, configured, deleted_at FROM deleted_tasks ORDER BY name";

const CONFIGURATIONS: &str = "-- export: configurations
    SELECT number, fingerprint, tasks, decided_by, decided_at FROM configuration_in_force";

const CONTENTS: &str = "-- export: contents
    SELECT hash, encoding, content, created_at FROM contents ORDER BY hash";

const INPUTS: &str = "-- export: inputs
    SELECT hash, encoding, content, created_at,
           (SELECT {list c.hash by p.position}
            FROM input_contents p JOIN contents c ON c.id = p.content_id
            WHERE p.input_id = i.id) AS contents
    FROM inputs i ORDER BY hash";

/// A running run has lost its worker: it goes back to the queue, or is cancelled if it applies and a newer
/// one waits. Queued and running runs of a task that does not move are cancelled.
const RUNS: &str = "-- export: runs; index runs_one_queued
    SELECT id, task_name, incarnation, kind, destroys, no_retry, requested, input_hash, changes_present,
           plan_encoding, plan, summary, findings, remote_run, remote_group,
           CASE WHEN pointless THEN 'cancelled' WHEN lost THEN 'queued' ELSE status END AS status,
           CASE WHEN lost THEN {greatest}(attempts - 1, 0) ELSE attempts END AS attempts,
           CASE WHEN pointless THEN updated_at ELSE finished_at END AS finished_at,
           errors, epoch, due_at, started_at, created_at, updated_at, requested_by, trace, cause,
           NULL AS holder, leased_epoch, leased_at, leased_by, NULL AS run_phase, ended_attempts
    FROM (SELECT r.*, r.status = 'running' AS lost,
                 r.status IN ('queued', 'running') AND t.name IS NULL
                 OR r.status = 'running' AND r.withdrawn
                 OR r.status = 'running' AND r.cancel_requested_at IS NOT NULL
                 OR r.status = 'running' AND r.kind = 'apply' AND EXISTS (
                     SELECT 1 FROM runs q
                     WHERE q.task_name = r.task_name AND q.status = 'queued'
                       AND q.kind = 'apply') AS pointless
          FROM runs r
          LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation
                           AND t.phase = 'ready') r
    ORDER BY id";

const EVENTS: &str = "-- export: events
    SELECT position, id, task_name, incarnation, run_id, success, start_time, end_time, error, config,
           summary, requested_by, cause
    FROM events ORDER BY position";

const TICK_EVENTS: &str = "-- export: events of ticks
    SELECT task_name, number, id, start_time, end_time, k.config, after
    FROM tick_events k JOIN tasks t ON t.name = k.task_name
    WHERE t.phase = 'ready' ORDER BY task_name, number";

const LOG_LINES: &str = "-- export: log lines
    SELECT run_id, position, stream, line FROM log_lines ORDER BY run_id, position";

const BUNDLES: &str = "-- export: bundles
    SELECT hash, content, created_at, used_at FROM bundles ORDER BY hash";

const TOKENS: &str = "-- export: tokens
    SELECT name, sha256, role, tasks, created_at, created_by, expires_at FROM access_tokens ORDER BY name";

const AUDIT_RECORDS: &str = "-- export: audit records
    SELECT number, recorded_at, caller_kind, caller, issuer, address, action, target, arguments, outcome,
           reason, request_id, calls
    FROM audit_records ORDER BY number";

/// A content that moves.
fn content(row: &dyn Columns) -> Result<ContentRow, StoreError> {
    Ok(ContentRow {
        content: inputs::content(row)?,
        created_at: Fields::new(row, OPERATION, "contents").integer("created_at")?,
    })
}

/// An input that moves.
fn input(row: &dyn Columns) -> Result<InputRow, StoreError> {
    let fields = Fields::new(row, OPERATION, "inputs").keyed("hash")?;
    Ok(InputRow {
        hash: fields.parse("hash")?,
        input: inputs::stored(row)?,
        created_at: fields.integer("created_at")?,
    })
}
