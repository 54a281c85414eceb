//! Into an empty database.

mod access;
mod columns;
mod runs;

use async_trait::async_trait;
use cts_core::runs::Occasion;
use cts_core::state::Keep;
use cts_core::{EVENTS_KEPT, EventConfig, TaskName};
use cts_store::transfer::{
    BundleRow, ConfigurationRow, ContentRow, DeletedTaskRow, EventRow, Import, InputRow,
    LogLineRow, RunRow, TaskRow, TickEventRow,
};
use cts_store::{StoreError, StoredInput, StoredRecord, StoredToken, stored_serial};
use sqlx::PgConnection;

use self::columns::{column, encode, json, stored_incarnation, without_null};
use super::refuse_content;
use crate::connection::{Settings, Target};
use crate::row::{InputEncoding, encoded, failed_to};
use crate::schema;

const OPERATION: &str = "write what is moved";

/// One transaction that fills a database. Other writers wait until it ends.
#[derive(Debug)]
pub struct PostgresImport {
    connection: PgConnection,
}

impl PostgresImport {
    /// Connects, and refuses a schema that does not fit this program, and a database that has tasks or runs:
    /// [`NotEmpty`](cts_store::transfer::NotEmpty) is then the source of the [`StoreError::Open`].
    pub async fn begin(settings: &Settings) -> Result<Self, StoreError> {
        let target = Target::new(settings)?;
        schema::check(&target).await?;
        let mut connection = target.single().await?;
        for statement in [
            "BEGIN",
            "SET LOCAL lock_timeout = '10s'",
            "LOCK TABLE tasks, deleted_tasks, configuration_in_force, run_requests, inputs, runs, events, tick_events, log_lines, bundles
                IN EXCLUSIVE MODE",
        ] {
            sqlx::query(statement)
                .execute(&mut connection)
                .await
                .map_err(|error| target.open_error(error))?;
        }
        refuse_content(&target, &mut connection).await?;
        Ok(Self { connection })
    }
}

#[async_trait]
impl Import for PostgresImport {
    async fn tasks(&mut self, rows: Vec<TaskRow>) -> Result<(), StoreError> {
        for row in rows {
            let spec = &row.spec;
            let instances = json(row.applied_instances.as_ref())?;
            let released = json(row.released_instances.as_ref())?;
            let held = json(row.held.as_ref())?;
            let known = row.state.known.as_ref();
            let conflict = row.state.conflict.as_ref();
            let conflict = json(conflict.map(|(conflict, _)| conflict))?;
            let attempt = row.last_attempt.as_ref();
            let remote = json(row.remote_run.as_ref())?;
            let last_check = json(row.last_check.as_ref())?;
            sqlx::query(
                "-- import: a task
                INSERT INTO tasks (name, position, origin, enabled, skip_unchanged, retry_failed,
                                   requires_driver, requires_version, requires_bundle, spec,
                                   event_config, last_applied, failures, skipped, created_at,
                                   updated_at, revision, configured, tried_input,
                                   incarnation, applied_instances, held, concurrency_group,
                                   released_instances, cancelled_input,
                                   state_lineage, state_serial, state_moves, state_moved_serial, state_keep,
                                   state_from, state_conflict, state_conflict_at, state_recorded_at, delivery,
                                   delivery_first_run, delivery_run, delivery_input, remote_run, last_check, owes_run,
                                   state_refused)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                        $17, $18, $19, $20, $21, $22, $23, $24, $25,
                        $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42)",
            )
            .bind(spec.name().as_str())
            .bind(row.position)
            .bind(row.origin.as_str())
            .bind(spec.enabled)
            .bind(spec.file_settings.skip_unchanged)
            .bind(spec.file_settings.retry_failed)
            .bind(&spec.requirement.driver)
            .bind(&spec.requirement.version)
            .bind(spec.requirement.bundle)
            .bind(encoded("encode a task", spec)?)
            .bind(encoded("encode a task", &EventConfig::of(spec))?)
            .bind(row.last_applied.map(|hash| hash.to_string()))
            .bind(i32::try_from(row.failures).unwrap_or(i32::MAX))
            .bind(i64::try_from(row.skipped).unwrap_or(i64::MAX))
            .bind(row.created_at)
            .bind(row.updated_at)
            .bind(i64::try_from(row.revision).unwrap_or(i64::MAX))
            .bind(row.configured.map(|digest| digest.to_string()))
            .bind(row.tried_input.map(|hash| hash.to_string()))
            .bind(stored_incarnation(row.incarnation))
            .bind(instances)
            .bind(held)
            .bind(&spec.file_settings.concurrency_group)
            .bind(released)
            .bind(row.cancelled_input.map(|hash| hash.to_string()))
            .bind(known.map(|known| &known.lineage))
            .bind(known.map(|known| stored_serial(known.serial)))
            .bind(i64::from(row.state.moves))
            .bind(known.and_then(|known| known.moved).map(stored_serial))
            .bind(row.state.keep.map(Keep::as_str))
            .bind(row.state.from.as_ref().map(TaskName::as_str))
            .bind(conflict)
            .bind(row.state.conflict.as_ref().map(|(_, at)| at.timestamp_micros()))
            .bind(row.state.recorded_at.map(|at| at.timestamp_micros()))
            .bind(attempt.map_or(0, |attempt| {
                i64::try_from(attempt.delivery.number).unwrap_or(i64::MAX)
            }))
            .bind(attempt.map(|attempt| attempt.delivery.first_run.as_uuid()))
            .bind(attempt.map(|attempt| attempt.run.as_uuid()))
            .bind(attempt.map(|attempt| attempt.input.to_string()))
            .bind(remote)
            .bind(last_check)
            .bind(row.owes_run.map(Occasion::as_str))
            .bind(&row.state_refused)
            .execute(&mut self.connection)
            .await
            .map_err(failed_to(OPERATION))?;
        }
        Ok(())
    }

    async fn deleted_tasks(&mut self, rows: Vec<DeletedTaskRow>) -> Result<(), StoreError> {
        sqlx::query(
            "-- import: deleted tasks
            INSERT INTO deleted_tasks (name, configured, deleted_at)
            SELECT * FROM unnest($1::TEXT[], $2::TEXT[], $3::BIGINT[])",
        )
        .bind(column(&rows, |row| row.name.as_str()))
        .bind(column(&rows, |row| row.configured.to_string()))
        .bind(column(&rows, |row| row.deleted_at))
        .execute(&mut self.connection)
        .await
        .map_err(failed_to(OPERATION))?;
        Ok(())
    }

    async fn configurations(&mut self, rows: Vec<ConfigurationRow>) -> Result<(), StoreError> {
        for row in rows {
            sqlx::query(
                "-- import: the configuration in force
                INSERT INTO configuration_in_force
                    (number, fingerprint, tasks, decided_by, decided_at)
                VALUES ($1, $2, $3, $4, $5)",
            )
            .bind(i64::try_from(row.number).unwrap_or(i64::MAX))
            .bind(row.fingerprint)
            .bind(row.tasks)
            .bind(row.decided_by)
            .bind(row.decided_at)
            .execute(&mut self.connection)
            .await
            .map_err(failed_to(OPERATION))?;
        }
        Ok(())
    }

    async fn contents(&mut self, rows: Vec<ContentRow>) -> Result<(), StoreError> {
        let (mut hashes, mut times) = (Vec::new(), Vec::new());
        let (mut encodings, mut contents) = (Vec::new(), Vec::new());
        for row in rows {
            let (encoding, content) = encode(row.content.bytes)?;
            hashes.push(row.content.hash.to_string());
            encodings.push(encoding.as_str());
            contents.push(content);
            times.push(row.created_at);
        }
        sqlx::query(
            "-- import: contents
            INSERT INTO contents (hash, encoding, content, created_at)
            SELECT * FROM unnest($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::BIGINT[])
            ON CONFLICT (hash) DO NOTHING",
        )
        .bind(hashes)
        .bind(encodings)
        .bind(contents)
        .bind(times)
        .execute(&mut self.connection)
        .await
        .map_err(failed_to(OPERATION))?;
        Ok(())
    }

    async fn inputs(&mut self, rows: Vec<InputRow>) -> Result<(), StoreError> {
        let (mut hashes, mut times) = (Vec::new(), Vec::new());
        let (mut encodings, mut contents) = (Vec::new(), Vec::new());
        let (mut owners, mut positions, mut parts) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let (encoding, content) = match row.input {
                StoredInput::OnePiece(bytes) => encode(bytes)?,
                StoredInput::Contents(contents) => {
                    for (position, content) in (0_i16..).zip(contents) {
                        owners.push(row.hash.to_string());
                        positions.push(position);
                        parts.push(content.to_string());
                    }
                    (InputEncoding::Plain, Vec::new())
                }
            };
            hashes.push(row.hash.to_string());
            encodings.push(encoding.as_str());
            contents.push(content);
            times.push(row.created_at);
        }
        sqlx::query(
            "-- import: inputs
            WITH named AS (
                INSERT INTO inputs (hash, encoding, content, created_at)
                SELECT * FROM unnest($1::TEXT[], $2::TEXT[], $3::BYTEA[], $4::BIGINT[])
                ON CONFLICT (hash) DO NOTHING
                RETURNING id, hash
            )
            INSERT INTO input_contents (input_id, content_id, position)
            SELECT named.id, c.id, n.position
            FROM unnest($5::TEXT[], $6::SMALLINT[], $7::TEXT[]) AS n (input, position, content)
            JOIN named ON named.hash = n.input
            JOIN contents c ON c.hash = n.content",
        )
        .bind(hashes)
        .bind(encodings)
        .bind(contents)
        .bind(times)
        .bind(owners)
        .bind(positions)
        .bind(parts)
        .execute(&mut self.connection)
        .await
        .map_err(failed_to(OPERATION))?;
        Ok(())
    }

    async fn runs(&mut self, rows: Vec<RunRow>) -> Result<(), StoreError> {
        runs::insert(&mut self.connection, &rows).await
    }

    async fn events(&mut self, rows: Vec<EventRow>) -> Result<(), StoreError> {
        runs::insert_events(&mut self.connection, &rows).await
    }

    async fn tick_events(&mut self, rows: Vec<TickEventRow>) -> Result<(), StoreError> {
        let configs = rows
            .iter()
            .map(|row| encoded(OPERATION, &row.event.config))
            .collect::<Result<Vec<_>, _>>()?;
        sqlx::query(
            "-- import: events of ticks
            INSERT INTO tick_events (task_name, place, number, id, start_time, end_time, config, after)
            SELECT task, number % $8, number, id, start_time, end_time, config, after
            FROM unnest($1::TEXT[], $2::BIGINT[], $3::UUID[], $4::BIGINT[], $5::BIGINT[], $6::TEXT[],
                        $7::BIGINT[])
                AS n (task, number, id, start_time, end_time, config, after)",
        )
        .bind(column(&rows, |row| row.event.task_name.as_str()))
        .bind(column(&rows, |row| i64::try_from(row.number).unwrap_or(i64::MAX)))
        .bind(column(&rows, |row| row.event.id.as_uuid()))
        .bind(column(&rows, |row| row.event.start_time.timestamp_micros()))
        .bind(column(&rows, |row| row.event.end_time.timestamp_micros()))
        .bind(configs)
        .bind(column(&rows, |row| row.after))
        .bind(i64::try_from(EVENTS_KEPT).unwrap_or(i64::MAX))
        .execute(&mut self.connection)
        .await
        .map_err(failed_to(OPERATION))?;
        Ok(())
    }

    async fn log_lines(&mut self, rows: Vec<LogLineRow>) -> Result<(), StoreError> {
        sqlx::query(
            "-- import: log lines
            INSERT INTO log_lines (run_id, position, stream, line)
            SELECT * FROM unnest($1::UUID[], $2::BIGINT[], $3::TEXT[], $4::TEXT[])",
        )
        .bind(column(&rows, |row| row.run.as_uuid()))
        .bind(column(&rows, |row| row.position))
        .bind(column(&rows, |row| row.line.stream.as_str()))
        .bind(column(&rows, |row| without_null(&row.line.text)))
        .execute(&mut self.connection)
        .await
        .map_err(failed_to(OPERATION))?;
        Ok(())
    }

    async fn bundles(&mut self, rows: Vec<BundleRow>) -> Result<(), StoreError> {
        sqlx::query(
            "-- import: bundles
            INSERT INTO bundles (hash, content, created_at, used_at)
            SELECT * FROM unnest($1::TEXT[], $2::BYTEA[], $3::BIGINT[], $4::BIGINT[])
            ON CONFLICT (hash) DO NOTHING",
        )
        .bind(column(&rows, |row| row.hash.to_string()))
        .bind(column(&rows, |row| row.bytes.as_slice()))
        .bind(column(&rows, |row| row.created_at))
        .bind(column(&rows, |row| row.used_at))
        .execute(&mut self.connection)
        .await
        .map_err(failed_to(OPERATION))?;
        Ok(())
    }

    async fn tokens(&mut self, rows: Vec<StoredToken>) -> Result<(), StoreError> {
        access::tokens(&mut self.connection, &rows).await
    }

    async fn audit_records(&mut self, rows: Vec<StoredRecord>) -> Result<(), StoreError> {
        access::audit_records(&mut self.connection, &rows).await
    }

    async fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        for statement in [
            "-- import: later events come behind these
            SELECT setval(pg_get_serial_sequence('events', 'position'), max(position))
            FROM events HAVING max(position) IS NOT NULL",
            "-- import: later tasks are others than these
            SELECT setval('task_incarnations', greatest(
                1, (SELECT max(incarnation) FROM tasks), (SELECT max(incarnation) FROM runs)))",
            "-- import: later records come behind these
            UPDATE audit_head SET number = greatest(
                number, (SELECT coalesce(max(number), 0) FROM audit_records))",
            "ANALYZE tasks, inputs, runs, events, log_lines",
            "COMMIT",
        ] {
            sqlx::query(statement)
                .execute(&mut self.connection)
                .await
                .map_err(failed_to(OPERATION))?;
        }
        let closed = sqlx::Connection::close(self.connection).await;
        closed.map_err(failed_to(OPERATION))
    }
}
