//! Reads a whole database, also to move its rows into a different database.

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use cts_core::ArchiveId;
use cts_store::configured::deleted_declaration;
use cts_store::declared::{DeclaredTask, DeclaredTasks, InForce};
use cts_store::fields::Fields;
use cts_store::{AppliedState, Archive, ArchivedRow, StoreError};
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};

use crate::page::Page;
use crate::tables::{TABLES, Table};
use crate::{Connection, Row, archive, failed_to, restored, sql};

/// Number of moved rows of each table, by its name.
pub type Counts = Vec<(&'static str, u64)>;

/// A connection that streams rows without buffering them.
#[async_trait]
pub trait Stream: Connection + fmt::Debug {
    /// Runs a statement without arguments.
    fn stream(&mut self, text: Cow<'static, str>) -> BoxStream<'_, Result<Row, sqlx::Error>>;

    /// Closes the connection.
    async fn close(self: Box<Self>) -> Result<(), sqlx::Error>;
}

/// Reads one consistent state of a database, however long that takes, and changes nothing.
#[derive(Debug)]
pub struct SqlExport {
    connection: Box<dyn Stream>,
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

    /// Whether the last commits may be missing: in that case [no input counts as
    /// applied](crate::restored::NOTHING_APPLIED).
    pub const fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// Number of rows to move.
    pub async fn counts(&mut self) -> Result<Counts, StoreError> {
        let counts = counted().map(|table| {
            let Table { name, moving, .. } = table;
            format!("(SELECT count(*) FROM {name} WHERE {moving}) AS {name}")
        });
        let counts = counts.collect::<Vec<_>>().join(",\n");
        let counts = sql(
            self.operation(),
            format!("-- export: counts\nSELECT {counts}"),
        );
        let counts = counts.one(&mut *self.connection, |row| {
            let row = Fields::new(row, OPERATION, "");
            let counts = counted().map(|table| Ok((table.name, row.number(table.name)?)));
            counts.collect()
        });
        counts.await
    }

    /// The rows of a table to move, page by page, so that memory does not grow with the size of the table.
    pub fn pages(&mut self, table: &'static Table) -> BoxStream<'_, Result<Page, StoreError>> {
        let failed = failed_to(self.operation());
        let rows = self.connection.stream(select(table).into());
        let rows = rows.map_err(failed).fuse();
        let pages = stream::try_unfold(rows, move |mut rows| async move {
            let mut page = Page::new(table);
            while page.has_room()
                && let Some(row) = rows.try_next().await?
            {
                page.push(&row)?;
            }
            Ok((page.rows > 0).then_some((page, rows)))
        });
        pages.boxed()
    }

    /// The ready tasks as last declared.
    pub async fn declared(&mut self) -> Result<DeclaredTasks, StoreError> {
        let operation = self.operation();
        let c = &mut *self.connection;
        let tasks = sql(
            operation,
            "-- export: declared tasks
            SELECT name, origin, configured, spec FROM tasks
            WHERE phase = 'ready' ORDER BY position, name",
        );
        let tasks = tasks.all(c, DeclaredTask::read).await?;
        let deleted = sql(
            operation,
            "-- export: deleted tasks\nSELECT name, configured FROM deleted_tasks",
        );
        let deleted = deleted.all(c, deleted_declaration).await?;
        let in_force = sql(
            operation,
            "-- export: the configuration in force
            SELECT number, fingerprint, decided_by, decided_at, fleet_max_shrink,
                   CASE WHEN approvals_number = number THEN approvals END AS approvals
            FROM configuration_in_force",
        );
        Ok(DeclaredTasks {
            tasks,
            deleted: deleted.into_iter().collect(),
            in_force: in_force.optional(c, InForce::read).await?,
        })
    }

    /// See [`Store::archives`](cts_store::Store::archives); also during writes.
    pub async fn archives(&mut self) -> Result<Vec<Archive>, StoreError> {
        archive::all(&mut *self.connection).await
    }

    /// See [`Store::archived_rows`](cts_store::Store::archived_rows); also during writes.
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
}

const OPERATION: &str = "read the database";

/// The tables whose rows are counted.
fn counted() -> impl Iterator<Item = &'static Table> {
    TABLES.into_iter().filter(|table| !table.is_link())
}

fn select(table: &Table) -> String {
    let columns = table
        .moving_columns()
        .map(|(name, kind)| match kind.refers_to() {
            Some(other) => format!("(SELECT hash FROM {other} o WHERE o.id = {name}) AS {name}"),
            None => name.to_owned(),
        });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let Table {
        name,
        moving,
        order,
        ..
    } = table;
    format!("-- export: {name}\nSELECT {columns} FROM {name} WHERE {moving} ORDER BY {order}")
}
