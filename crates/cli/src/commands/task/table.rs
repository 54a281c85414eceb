//! Text in columns.

use super::ui::on_one_line;

/// Blanks between two columns.
const GAP: usize = 2;

/// The rows below `header`, each column as wide as its widest cell. Control characters are escaped.
pub fn table<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut cells = vec![header.map(str::to_owned)];
    cells.extend(
        rows.into_iter()
            .map(|row| row.map(|cell| on_one_line(&cell).into_owned())),
    );
    let mut widths = [0; COLUMNS];
    for row in &cells {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    lines(cells.iter().map(|row| line(row, &widths)))
}

/// A name and a value on each line, the values below each other. A value of several lines stays below
/// itself; control characters are escaped.
pub(super) fn sheet(entries: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let entries: Vec<(&str, String)> = entries.into_iter().collect();
    let names = entries.iter().map(|(name, _)| name.chars().count());
    // The colon is one more.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["é", "long cell"], ["\u{1b}[1m", ""]].map(|row| row.map(str::to_owned));
        let expected = "NAME       B\né          long cell\n\\u{1b}[1m\n";
        assert_eq!(table(["NAME", "B"], rows), expected);
    }

    #[test]
    fn values_stand_below_each_other() {
        let text = sheet([
            ("Name", "web".to_owned()),
            ("Last error", "one\r\n  two\n".to_owned()),
            ("Empty", String::new()),
        ]);
        let expected = "Name:        web\nLast error:  one\n               two\nEmpty:\n";
        assert_eq!(text, expected);
    }
}
