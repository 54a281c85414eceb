//! Text in columns.

mod fit;
mod short_id;
#[cfg(test)]
mod tests;

use comfy_table::{ContentArrangement, Table, presets};

use self::fit::GAP;
pub(crate) use self::short_id::RUN_ID_SHOWN;
pub use self::short_id::short_id;
use super::terminal_text::on_one_line;
use crate::arguments::TableWidth;

/// The rows below `header`, each column as wide as its widest cell, and the whole as wide as `width` allows. Control
/// characters are escaped.
pub fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
    width: TableWidth,
) -> String {
    let mut cells = vec![header.map(str::to_owned)];
    cells.extend(
        rows.into_iter()
            .map(|row| row.map(|cell| on_one_line(&cell).into_owned())),
    );
    match width {
        TableWidth::Whole => counted(&cells),
        TableWidth::Wide => drawn(cells),
        TableWidth::Columns(columns) => {
            fit::fit(&mut cells, columns);
            drawn(cells)
        }
    }
}

/// Cells as wide as their number of characters: files have no display width.
fn counted<const COLUMNS: usize>(cells: &[[String; COLUMNS]]) -> String {
    let mut widths = [0; COLUMNS];
    for row in cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    lines(cells.iter().map(|row| line(row, &widths)))
}

/// Cells as wide as a terminal shows them.
fn drawn<const COLUMNS: usize>(cells: Vec<[String; COLUMNS]>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .add_rows(cells);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt() + "\n"
}

/// A name and a value on each line, the values below each other. A value of several lines stays below
/// itself; control characters are escaped.
pub(crate) fn sheet(entries: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let entries: Vec<(&str, String)> = entries.into_iter().collect();
    let names = entries.iter().map(|(name, _)| name.chars().count());
    // The colon takes one more column.
    let widths = [names.max().unwrap_or(0) + 1, 0];
    lines(entries.iter().flat_map(|(name, value)| {
        let mut rest = value
            .trim_end()
            .split('\n')
            .map(|text| on_one_line(text.trim_end_matches('\r')));
        let first = rest.next().unwrap_or_default().into_owned();
        let first = line(&[format!("{name}:"), first], &widths);
        let rest = rest.map(|text| line(&[String::new(), text.into_owned()], &widths));
        std::iter::once(first).chain(rest.collect::<Vec<_>>())
    }))
}

fn line<const COLUMNS: usize>(row: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:width$}"))
        .collect();
    cells.join(&" ".repeat(GAP)).trim_end().to_owned()
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}
