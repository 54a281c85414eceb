//! Windows of a log.

use cts_core::RunId;
use cts_proto::log::v1::{LogExcerpt, ReadLogWindowRequest, ReadLogWindowResponse};
use cts_store::{LogRange, Store, log_attempts};
use tonic::Status;

use crate::status::OrStatus as _;

/// Maximum number of lines in a window.
const LINES: usize = 5_000;

/// Maximum bytes of the lines of a window.
const BYTES: usize = 1 << 20;

/// Lines read at once.
const PAGE: usize = 250;

/// The lines of the newest attempt with this number, or of all attempts for 0; and a window without lines.
pub(super) async fn span(
    store: &dyn Store,
    run: RunId,
    attempt: u32,
) -> Result<(LogRange, ReadLogWindowResponse), Status> {
    let records = store.attempts(run).await.or_status()?;
    let mut range = LogRange {
        run,
        after: 0,
        before: u64::MAX,
        newest_first: true,
        limit: 1,
        text: String::new(),
    };
    let newest = store.log_excerpts(&range).await.or_status()?;
    let last_position = newest.reached.unwrap_or_default();
    range.before = last_position + 1;
    let window = ReadLogWindowResponse {
        lines: Vec::new(),
        last_position,
        attempts: log_attempts(&records, last_position),
    };
    if attempt > 0 {
        // An attempt that does not count has the number of the next attempt.
        let mut groups = window.attempts.chunk_by(|a, b| a.number == b.number);
        let group = groups.rfind(|group| group.iter().all(|it| it.number == attempt));
        let Some((first, last)) = group.and_then(|group| group.first().zip(group.last())) else {
            let unknown = format!("the lines of attempt {attempt} are not known");
            return Err(Status::out_of_range(unknown));
        };
        range.after = first.first_position - 1;
        range.before = last.first_position + last.lines;
    }
    Ok((range, window))
}

/// Reads a window. Of a window around a position, half is for the lines before the position, and the rest for the lines
/// from the position on.
pub(super) async fn read(
    store: &dyn Store,
    run: RunId,
    request: &ReadLogWindowRequest,
) -> Result<ReadLogWindowResponse, Status> {
    let (range, mut window) = span(store, run, request.attempt).await?;
    let (before, after) = match (request.after_position, request.around_position) {
        (Some(after), _) => (None, Some(after)),
        (None, Some(around)) => (Some(around), Some(around.saturating_sub(1))),
        (None, None) => (Some(request.before_position.unwrap_or(u64::MAX)), None),
    };
    let most = match request.lines as usize {
        0 => LINES,
        lines => lines.min(LINES),
    };
    let lines = &mut window.lines;
    if let Some(before) = before {
        let share = if after.is_some() { 2 } else { 1 };
        let part = LogRange {
            before: before.min(range.before),
            ..range.clone()
        };
        lines.extend(take(store, part, most / share, BYTES / share).await?);
        lines.reverse();
    }
    if let Some(after) = after {
        let part = LogRange {
            after: after.max(range.after),
            newest_first: false,
            ..range
        };
        let room = BYTES - lines.iter().map(size).sum::<usize>();
        lines.extend(take(store, part, most - lines.len(), room).await?);
    }
    Ok(window)
}

/// The first lines of a range: at most this number of lines and bytes.
async fn take(
    store: &dyn Store,
    mut range: LogRange,
    most: usize,
    mut room: usize,
) -> Result<Vec<LogExcerpt>, Status> {
    let mut taken = Vec::new();
    while taken.len() < most {
        range.limit = u32::try_from(PAGE.min(most - taken.len())).unwrap_or(1);
        let page = store.log_excerpts(&range).await.or_status()?;
        let Some(reached) = page.reached else { break };
        if range.newest_first {
            range.before = reached;
        } else {
            range.after = reached;
        }
        for line in page.lines {
            let Some(rest) = room.checked_sub(size(&line)) else {
                return Ok(taken);
            };
            room = rest;
            taken.push(line);
        }
    }
    Ok(taken)
}

const fn size(line: &LogExcerpt) -> usize {
    line.text.len() + 1
}
