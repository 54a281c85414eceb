//! Pages of rows that move to a different database.

use cts_store::StoreError;
use cts_store::fields::{ColumnError, Columns, StoredId};
use uuid::Uuid;

use crate::tables::{Kind, Table};

/// Maximum number of rows written at once.
const PAGE_ROWS: usize = 2000;

/// Size in bytes from which a page accepts no further row.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Approximate bytes of a cell without a long value.
const SMALL: usize = 16;

/// The values of a column, `None` for `NULL`.
#[derive(Debug)]
#[expect(missing_docs, reason = "the kinds")]
pub enum Cells {
    Texts(Vec<Option<String>>),
    Integers(Vec<Option<i64>>),
    Flags(Vec<Option<bool>>),
    Bytes(Vec<Option<Vec<u8>>>),
    Ids(Vec<Option<Uuid>>),
}

impl Cells {
    const fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text | Kind::Input | Kind::Content | Kind::Stays => Self::Texts(Vec::new()),
            Kind::Integer => Self::Integers(Vec::new()),
            Kind::Flag => Self::Flags(Vec::new()),
            Kind::Bytes => Self::Bytes(Vec::new()),
            Kind::Id => Self::Ids(Vec::new()),
        }
    }

    /// Adds the value of a row, and returns the size if the value is long.
    fn push(&mut self, row: &dyn Columns, column: &str) -> Result<usize, ColumnError> {
        match self {
            Self::Texts(cells) => {
                let text = row.text(column)?;
                cells.push(text.map(str::to_owned));
                return Ok(text.map_or(0, str::len));
            }
            Self::Bytes(cells) => {
                let bytes = row.bytes(column)?;
                let size = bytes.as_ref().map_or(0, Vec::len);
                cells.push(bytes);
                return Ok(size);
            }
            Self::Integers(cells) => cells.push(row.integer(column)?),
            Self::Flags(cells) => cells.push(row.flag(column)?),
            Self::Ids(cells) => {
                let id = row.id(column)?.map(|id| match id {
                    StoredId::Uuid(id) => Ok(id),
                    StoredId::Text(text) => text.parse(),
                });
                cells.push(id.transpose()?);
            }
        }
        Ok(0)
    }
}

/// Rows of a table, by columns.
#[derive(Debug)]
pub struct Page {
    pub table: &'static Table,
    pub rows: usize,
    /// The values of each moving column.
    pub columns: Vec<Cells>,
    bytes: usize,
}

impl Page {
    pub(crate) fn new(table: &'static Table) -> Self {
        let columns = table.moving_columns();
        Self {
            table,
            rows: 0,
            columns: columns.map(|(_name, kind)| Cells::new(kind)).collect(),
            bytes: 0,
        }
    }

    /// Whether the page accepts a further row.
    pub(crate) const fn has_room(&self) -> bool {
        self.rows < PAGE_ROWS && self.bytes < PAGE_BYTES
    }

    pub(crate) fn push(&mut self, row: &dyn Columns) -> Result<(), StoreError> {
        for ((column, _kind), cells) in self.table.moving_columns().zip(&mut self.columns) {
            let size = cells
                .push(row, column)
                .map_err(|source| StoreError::CorruptRow {
                    table: self.table.name,
                    column,
                    row: key(row, self.table),
                    source,
                })?;
            self.bytes += SMALL + size;
        }
        self.rows += 1;
        Ok(())
    }
}

/// The first column of a row, if it is readable.
fn key(row: &dyn Columns, table: &Table) -> String {
    let (column, _kind) = table.columns[0];
    let number = || row.integer(column).ok()?.map(|number| number.to_string());
    let text = row.text(column).ok().flatten().map(str::to_owned);
    text.or_else(number).unwrap_or_default()
}
