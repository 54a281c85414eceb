//! Reads and writes the logs of runs.

use cts_core::RunId;
use cts_store::cell::stored_stream;
use cts_store::fields::Fields;
use cts_store::{
    EXCERPT_BYTES, LINES_PRUNED_AT_ONCE, LeaseError, LogExcerpt, LogExcerpts, LogLine, LogPage,
    LogRange, StoreError,
};
use serde_json::{Value, json};

use crate::leases::{Held, lost, of_lease};
use crate::{Connection, integer, sql, text};

const APPEND: &str = "append to a log";

/// A macro, so that the statement stays one constant text.
macro_rules! append {
    ($lock:literal) => {
        concat!(
            "-- append_log
        WITH leased AS MATERIALIZED (
            SELECT id FROM runs
            WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running' ",
            $lock,
            "
        ), last AS MATERIALIZED (
            SELECT id, {last line of id} AS position FROM leased
        )
        INSERT INTO log_lines (run_id, position, stream, line)
        SELECT last.id, last.position + n.number, n.stream, n.line
        FROM last CROSS JOIN {rows $4 n: number BIGINT, stream TEXT, line TEXT}"
        )
    };
}

/// Appends lines to the log of a leased run in one statement, which locks the run and then reads its last line.
pub async fn append(
    c: &mut dyn Connection,
    held: Held<'_>,
    lines: &[LogLine],
) -> Result<(), LeaseError> {
    if lines.is_empty() {
        let live = of_lease(
            APPEND,
            "-- append_log: the lease
            SELECT epoch AS value FROM runs
            WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'",
            held,
        );
        return live
            .optional(c, integer)
            .await?
            .map(drop)
            .ok_or_else(|| lost(held));
    }
    let text = c.dialect().pick(append!(""), append!("FOR NO KEY UPDATE"));
    let rows = (1..).zip(lines).map(|(number, line): (u64, _)| {
        json!({"number": number, "stream": stored_stream(line.stream()), "line": line.text})
    });
    let rows = rows.collect::<Value>().to_string();
    match of_lease(APPEND, text, held).bind(rows).execute(c).await? {
        0 => Err(lost(held)),
        _ => Ok(()),
    }
}

/// Deletes some of the lines of these logs, with `keep_last` all but the last line of each. Returns their number, below
/// [`LINES_PRUNED_AT_ONCE`] if no such line is left: a log may be too long for one transaction.
pub(crate) async fn delete_lines(
    c: &mut dyn Connection,
    runs: &[RunId],
    keep_last: bool,
) -> Result<u64, StoreError> {
    let deleted = sql(
        "delete log lines",
        c.dialect().pick(
            "-- prune, remove_logs: lines
            DELETE FROM log_lines WHERE (run_id, position) IN (
                SELECT l.run_id, l.position FROM {each $1 n.id} JOIN log_lines l ON l.run_id = n.id
                WHERE NOT $2 OR l.position < {last line of n.id}
                LIMIT $3)",
            "-- prune, remove_logs: lines
            DELETE FROM log_lines WHERE ctid = ANY (ARRAY(
                SELECT l.ctid
                FROM (SELECT id, CASE WHEN $2 THEN {last line of id} END AS kept FROM {each $1 n.id} OFFSET 0) n
                CROSS JOIN LATERAL (
                    SELECT ctid FROM log_lines
                    WHERE run_id = n.id AND position < coalesce(n.kept, 9223372036854775807) LIMIT $3) l
                LIMIT $3))",
        ),
    );
    let deleted = deleted.bind(runs).bind(keep_last);
    deleted.bind(LINES_PRUNED_AT_ONCE).execute(c).await
}

/// Reads the lines of a log after position `after`.
pub async fn read(
    c: &mut dyn Connection,
    run: RunId,
    after: u64,
    limit: u32,
) -> Result<Option<LogPage>, StoreError> {
    // Read before the lines: if the run has ended at that time, no line follows.
    let status = sql(
        "read a log",
        "-- read_log: the run\nSELECT status AS value FROM runs WHERE id = $1",
    );
    let Some(status) = status.bind(run).optional(c, text).await? else {
        return Ok(None);
    };
    let lines = sql(
        "read a log",
        "-- read_log: the lines
        SELECT run_id, position, stream, line FROM log_lines
        WHERE run_id = $1 AND position > $2
        ORDER BY position LIMIT $3",
    );
    let lines = lines.bind(run).bind(after).bind(limit).all(c, |row| {
        let row = Fields::new(row, "read a log", "log_lines").keyed_by_id("run_id")?;
        let line = LogLine {
            stream: row.log_stream("stream")?.into(),
            text: row.text("line")?.to_owned(),
        };
        Ok((row.number("position")?, line))
    });
    let lines = lines.await?;
    Ok(Some(LogPage {
        position: lines.last().map_or(after, |(position, _)| *position),
        lines: lines.into_iter().map(|(_, line)| line).collect(),
        ended: !matches!(status.as_str(), "queued" | "running"),
    }))
}

/// Examines lines of a log, and returns those with the text.
pub(crate) async fn excerpts(
    c: &mut dyn Connection,
    wanted: &LogRange,
) -> Result<LogExcerpts, StoreError> {
    let position_of = c.dialect().pick("instr", "strpos");
    let order = if wanted.newest_first { "DESC" } else { "ASC" };
    // As many characters as an excerpt has bytes.
    let examined = sql(
        "read a log",
        format!(
            "-- log_excerpts; index log_lines_pkey
        SELECT run_id, position, stream, CAST(octet_length(line) AS BIGINT) AS bytes,
               CASE WHEN {position_of}(line, $5) > 0 THEN substr(line, 1, {EXCERPT_BYTES}) END AS line
        FROM log_lines WHERE run_id = $1 AND position > $2 AND position < $3
        ORDER BY position {order} LIMIT $4"
        ),
    );
    let examined = examined.bind(wanted.run).bind(wanted.after);
    let examined = examined.bind(wanted.before).bind(wanted.limit);
    let examined = examined.bind(&wanted.text).all(c, |row| {
        let row = Fields::new(row, "read a log", "log_lines").keyed_by_id("run_id")?;
        let (position, bytes): (u64, u64) = (row.number("position")?, row.number("bytes")?);
        let Some(text) = row.text_if_any("line")? else {
            return Ok((position, bytes, None));
        };
        let text = &text[..text.floor_char_boundary(EXCERPT_BYTES)];
        let is_cut = (text.len() as u64) < bytes;
        let line = LogExcerpt {
            position,
            stream: row.log_stream("stream")?.into(),
            text: text.to_owned(),
            bytes: if is_cut { bytes } else { 0 },
            address: String::new(),
        };
        Ok((position, bytes, Some(line)))
    });
    let mut excerpts = LogExcerpts::default();
    for (position, bytes, line) in examined.await? {
        excerpts.reached = Some(position);
        excerpts.bytes += bytes;
        excerpts.lines.extend(line);
    }
    Ok(excerpts)
}

/// Finds the logs among these that have unread lines, or whose run has ended.
pub async fn moved(
    c: &mut dyn Connection,
    read: &[(RunId, u64)],
) -> Result<Vec<RunId>, StoreError> {
    let read = read.iter().map(|(run, position)| {
        let position = i64::try_from(*position).unwrap_or(i64::MAX);
        json!({"run": run.to_string(), "position": position})
    });
    // A separate look-up for each log, independent of the statistics of Postgres.
    let moved = sql(
        "look for logs that have gone on",
        "-- moved_logs
        SELECT read.run FROM {rows $1 read: run UUID, position BIGINT}
        WHERE {last line of read.run} > read.position
           OR coalesce((SELECT status NOT IN ('queued', 'running') FROM runs WHERE id = read.run), TRUE)",
    );
    let moved = moved.bind(read.collect::<Value>().to_string());
    moved
        .all(c, |row| {
            Fields::new(row, "look for logs that have gone on", "runs").id("run")
        })
        .await
}
