//! Cells cut in the middle, so that a table fits a terminal.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Blanks between two columns.
pub(super) const GAP: usize = 2;

/// Stands for the text that was cut out.
const CUT: &str = "…";

/// Headers of ids, which are useless in parts.
const IDS: [&str; 2] = ["ID", "RUN"];

/// Headers of times, which are cut only if a table does not fit otherwise.
const TIMES: [&str; 5] = ["CREATED", "EXPIRES", "QUEUED", "STARTED", "TIME"];

/// Cuts the cells of the widest columns until the table fits; the first row is the header.
pub(super) fn fit<const COLUMNS: usize>(cells: &mut [[String; COLUMNS]], columns: usize) {
    let Some(header) = cells.first() else {
        return;
    };
    let ids = header.each_ref().map(|name| IDS.contains(&name.trim()));
    let times = header.each_ref().map(|name| TIMES.contains(&name.trim()));
    let headers = header.each_ref().map(|name| name.width());
    let mut widths = [0; COLUMNS];
    for row in &*cells {
        for ((width, cell), is_id) in widths.iter_mut().zip(row).zip(ids) {
            // A cell that is wider than the terminal is cut in any case.
            let most = if is_id { usize::MAX } else { columns };
            *width = cell.width().min(most).max(*width);
        }
    }
    let room = columns.saturating_sub(GAP * COLUMNS.saturating_sub(1));
    let natural = widths;
    let least = |column: usize| match (ids[column], times[column]) {
        (true, _) => usize::MAX,
        (false, true) => natural[column],
        (false, false) => headers[column],
    };
    shrink(&mut widths, room, least);
    shrink(&mut widths, room, |column| {
        if ids[column] { usize::MAX } else { CUT.width() }
    });
    for row in cells {
        for (cell, width) in row.iter_mut().zip(widths) {
            if cell.width() > width {
                *cell = cut(cell, width);
            }
        }
    }
}

/// Shrinks one column after the other, the widest first, but no column below its least width.
fn shrink<const COLUMNS: usize>(
    widths: &mut [usize; COLUMNS],
    room: usize,
    least: impl Fn(usize) -> usize,
) {
    while widths.iter().sum::<usize>() > room {
        let shrinkable = widths.iter_mut().enumerate();
        let shrinkable = shrinkable.filter(|(column, width)| **width > least(*column));
        let Some((_, widest)) = shrinkable.max_by_key(|(_, width)| **width) else {
            return;
        };
        *widest -= 1;
    }
}

/// The beginning and the end of a text, together as wide as `width` at most. A letter keeps its marks.
fn cut(text: &str, width: usize) -> String {
    let room = width.saturating_sub(CUT.width());
    let within = |letters: &mut dyn Iterator<Item = &str>, room: usize| {
        let mut used = 0;
        let taken = letters.take_while(|letter| {
            used += letter.width();
            used <= room
        });
        taken.map(str::len).sum::<usize>()
    };
    let end = within(&mut text.graphemes(true).rev(), room / 2);
    let end = &text[text.len() - end..];
    let begin = within(&mut text.graphemes(true), room - end.width());
    format!("{}{CUT}{end}", &text[..begin])
}
