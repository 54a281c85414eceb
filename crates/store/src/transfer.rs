//! Moving everything that a store keeps for good into another, empty one.
//!
//! Tasks, the API's deletions of configured tasks, the configuration in force, inputs with their contents,
//! runs, events, log lines, bundles, tokens and audit records move, completely and in their order, with unchanged ids, epochs and
//! times. Tasks that are being created or deleted do not move, nor do their rows, nor requests: their waiters
//! are gone. The leader, replicas and workers do not move either: after a move there are none. So a running
//! run arrives as if its lease had been taken back: queued, with the attempt that was cut off not counted, or
//! cancelled if it applies and a newer one waits.
//!
//! An implementation of [`Export`] reads one state of its store, an [`Import`] is one transaction; [`copy`]
//! brings them together in pages, so that the size of a store does not matter for memory.

mod row;

use std::fmt;

use async_trait::async_trait;
use futures::TryStreamExt as _;
use futures::stream::BoxStream;

pub use self::row::{
    BundleRow, ConfigurationRow, ContentRow, DeletedTaskRow, EventRow, InputRow, LogLineRow,
    RunRow, TaskRow, TickEventRow,
};
use crate::access_store::{StoredRecord, StoredToken};
use crate::error::StoreError;

/// Rows of one table in the order in which an [`Import`] takes them.
pub type Rows<'a, T> = BoxStream<'a, Result<T, StoreError>>;

/// Largest number of rows that are written at once.
const PAGE_ROWS: usize = 2000;

/// Size in bytes from which a page takes no further row.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Tables that move, in this order: rows refer to those of earlier tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Tasks, in their order.
    Tasks,
    /// Tasks of the configuration that the API has deleted.
    DeletedTasks,
    /// The configuration in force, if any.
    Configurations,
    /// Contents of frozen inputs.
    Contents,
    /// Frozen inputs.
    Inputs,
    /// Runs.
    Runs,
    /// Events, in the order in which they happened.
    Events,
    /// Events of ticks that found nothing new, those of a task in their order.
    TickEvents,
    /// Lines of the runs' logs, each log in its order.
    LogLines,
    /// Module bundles.
    Bundles,
    /// Tokens of the API.
    Tokens,
    /// Audit records, in their order.
    AuditRecords,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Tasks,
        Self::DeletedTasks,
        Self::Configurations,
        Self::Contents,
        Self::Inputs,
        Self::Runs,
        Self::Events,
        Self::TickEvents,
        Self::LogLines,
        Self::Bundles,
        Self::Tokens,
        Self::AuditRecords,
    ];

    /// The name of the table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::DeletedTasks => "deleted_tasks",
            Self::Configurations => "configuration_in_force",
            Self::Contents => "contents",
            Self::Inputs => "inputs",
            Self::Runs => "runs",
            Self::Events => "events",
            Self::TickEvents => "tick_events",
            Self::LogLines => "log_lines",
            Self::Bundles => "bundles",
            Self::Tokens => "access_tokens",
            Self::AuditRecords => "audit_records",
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How many rows of each table, in the order of [`Table::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([u64; 12]);

impl Counts {
    /// The rows of one table.
    pub const fn of(&self, table: Table) -> u64 {
        self.0[table as usize]
    }

    /// Adds rows of one table.
    pub const fn add(&mut self, table: Table, rows: u64) {
        self.0[table as usize] += rows;
    }
}

/// The store to be filled is not empty. Found as the source of [`StoreError::Open`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not empty: it has {tasks} tasks and {runs} runs; move into a new database")]
pub struct NotEmpty {
    /// Tasks there.
    pub tasks: u64,
    /// Runs there.
    pub runs: u64,
}

/// One state of a store, for reading. A row that cannot be decoded fails as [`StoreError::CorruptRow`].
#[async_trait]
pub trait Export: Send {
    /// Number of rows of each table.
    async fn counts(&mut self) -> Result<Counts, StoreError>;

    /// Tasks by position and name.
    fn tasks(&mut self) -> Rows<'_, TaskRow>;

    /// The API's deletions of configured tasks, by name.
    fn deleted_tasks(&mut self) -> Rows<'_, DeletedTaskRow>;

    /// The configuration in force.
    fn configurations(&mut self) -> Rows<'_, ConfigurationRow>;

    /// Contents of inputs by hash.
    fn contents(&mut self) -> Rows<'_, ContentRow>;

    /// Inputs by hash.
    fn inputs(&mut self) -> Rows<'_, InputRow>;

    /// Runs by id; none is running, see the module.
    fn runs(&mut self) -> Rows<'_, RunRow>;

    /// Events by position.
    fn events(&mut self) -> Rows<'_, EventRow>;

    /// Events of ticks by task and number.
    fn tick_events(&mut self) -> Rows<'_, TickEventRow>;

    /// Log lines by run and position.
    fn log_lines(&mut self) -> Rows<'_, LogLineRow>;

    /// Bundles by hash.
    fn bundles(&mut self) -> Rows<'_, BundleRow>;

    /// Tokens by name.
    fn tokens(&mut self) -> Rows<'_, StoredToken>;

    /// Audit records by number.
    fn audit_records(&mut self) -> Rows<'_, StoredRecord>;
}

/// One transaction on an empty store. Unless it is committed nothing has happened, however it ends.
#[async_trait]
pub trait Import: Send {
    /// Adds tasks.
    async fn tasks(&mut self, rows: Vec<TaskRow>) -> Result<(), StoreError>;

    /// Adds the API's deletions of configured tasks.
    async fn deleted_tasks(&mut self, rows: Vec<DeletedTaskRow>) -> Result<(), StoreError>;

    /// Adds the configuration in force.
    async fn configurations(&mut self, rows: Vec<ConfigurationRow>) -> Result<(), StoreError>;

    /// Adds contents of inputs; existing ones stay as they are.
    async fn contents(&mut self, rows: Vec<ContentRow>) -> Result<(), StoreError>;

    /// Adds inputs; existing ones stay as they are.
    async fn inputs(&mut self, rows: Vec<InputRow>) -> Result<(), StoreError>;

    /// Adds runs.
    async fn runs(&mut self, rows: Vec<RunRow>) -> Result<(), StoreError>;

    /// Adds events; later events of the store come after them.
    async fn events(&mut self, rows: Vec<EventRow>) -> Result<(), StoreError>;

    /// Adds events of ticks.
    async fn tick_events(&mut self, rows: Vec<TickEventRow>) -> Result<(), StoreError>;

    /// Adds log lines.
    async fn log_lines(&mut self, rows: Vec<LogLineRow>) -> Result<(), StoreError>;

    /// Adds bundles; existing ones stay as they are.
    async fn bundles(&mut self, rows: Vec<BundleRow>) -> Result<(), StoreError>;

    /// Adds tokens.
    async fn tokens(&mut self, rows: Vec<StoredToken>) -> Result<(), StoreError>;

    /// Adds audit records; later records of the store come after them.
    async fn audit_records(&mut self, rows: Vec<StoredRecord>) -> Result<(), StoreError>;

    /// Makes all of it last.
    async fn commit(self: Box<Self>) -> Result<(), StoreError>;
}

/// Copies every row and reports after each page how many rows of its table are copied. The caller commits.
pub async fn copy(
    source: &mut dyn Export,
    target: &mut dyn Import,
    mut progress: impl FnMut(Table, u64) + Send,
) -> Result<Counts, StoreError> {
    let mut counts = Counts::default();
    macro_rules! copy {
        ($($table:ident $rows:ident,)+) => {
            $({
                let mut rows = source.$rows();
                while let Some(page) = page(&mut rows, |row| row.size()).await? {
                    counts.add(Table::$table, page.len() as u64);
                    target.$rows(page).await?;
                    progress(Table::$table, counts.of(Table::$table));
                }
            })+
        };
    }
    copy! {
        Tasks tasks,
        DeletedTasks deleted_tasks,
        Configurations configurations,
        Contents contents,
        Inputs inputs,
        Runs runs,
        Events events,
        TickEvents tick_events,
        LogLines log_lines,
        Bundles bundles,
        Tokens tokens,
        AuditRecords audit_records,
    }
    Ok(counts)
}

/// The next rows; `None` at the end.
async fn page<T>(
    rows: &mut Rows<'_, T>,
    size: impl Fn(&T) -> usize,
) -> Result<Option<Vec<T>>, StoreError> {
    let mut page = Vec::new();
    let mut bytes = 0;
    while page.len() < PAGE_ROWS && bytes < PAGE_BYTES {
        let Some(row) = rows.try_next().await? else {
            break;
        };
        bytes += size(&row);
        page.push(row);
    }
    Ok(Some(page).filter(|page| !page.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt as _, StreamExt as _};

    #[test]
    fn pages_are_bounded_by_rows_and_by_bytes() {
        let pages = |sizes: Vec<usize>| {
            let mut rows: Rows<'_, usize> = futures::stream::iter(sizes).map(Ok).boxed();
            let lengths = async {
                let mut lengths = Vec::new();
                while let Some(page) = page(&mut rows, |size| *size).await.unwrap() {
                    lengths.push(page.len());
                }
                lengths
            };
            lengths.now_or_never().unwrap()
        };
        assert_eq!(pages(vec![]), Vec::<usize>::new());
        assert_eq!(pages(vec![1; 4500]), [2000, 2000, 500]);
        let half = PAGE_BYTES / 2;
        assert_eq!(pages(vec![half, half, half, 9 * half, 1]), [2, 2, 1]);
    }

    #[test]
    fn rows_are_counted_by_table() {
        let mut counts = Counts::default();
        for (number, table) in (1..).zip(Table::ALL) {
            counts.add(table, number);
        }
        let numbers = Table::ALL.map(|table| counts.of(table));
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
