//! How wide tables are.

use std::io::stdout;

use clap::Args;
use terminal_size::{Width, terminal_size_of};

/// The option of every command that shows a table.
#[derive(Debug, Clone, Copy, Args)]
pub struct WideOption {
    /// Show tables in full on a terminal too: no cell is cut, and no id is shortened.
    #[arg(long)]
    pub wide: bool,
}

/// How wide a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableWidth {
    /// As wide as its longest cells, counted in characters: for files and pipes.
    Whole,
    /// As wide as its longest cells, as a terminal shows them.
    Wide,
    /// At most this number of columns of a terminal. Ids are shortened.
    Columns(usize),
}

impl WideOption {
    /// The width for tables on standard output.
    pub fn width(self) -> TableWidth {
        match terminal_size_of(stdout()) {
            Some((Width(1..), _)) if self.wide => TableWidth::Wide,
            Some((Width(columns @ 1..), _)) => TableWidth::Columns(columns.into()),
            // A terminal without a size, or something else.
            _ => TableWidth::Whole,
        }
    }
}

impl TableWidth {
    /// Whether ids are shortened.
    pub fn shortens(self) -> bool {
        matches!(self, Self::Columns(_))
    }
}
