//! Triggers in a SQLite file that keep every write.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, SqliteConnection};

use super::KIND;
use super::record::{Audit, Skipped, Switched, clock};
use super::rows::{OneClock, run_write, skipped, switched};

const NOW: &str = "CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER)";

/// Names of their own, so that nothing of cts is touched. `@NOW@` and `@KIND@` are to be replaced.
const TRIGGERS: &str = "
CREATE TABLE audit_runs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, run TEXT NOT NULL, task TEXT NOT NULL,
    kind TEXT NOT NULL, input TEXT NOT NULL, old_status TEXT, new_status TEXT, old_epoch INTEGER,
    new_epoch INTEGER, old_holder TEXT, new_holder TEXT, old_expires INTEGER, new_expires INTEGER, due INTEGER,
    requested BOOLEAN NOT NULL, ordered BOOLEAN NOT NULL);
CREATE TRIGGER audit_runs_insert AFTER INSERT ON runs
BEGIN
    INSERT INTO audit_runs (at, run, task, kind, input, new_status, new_epoch, new_holder, new_expires, due,
                            requested, ordered)
    VALUES (@NOW@, NEW.id, NEW.task_name, @KIND@, NEW.input_hash, NEW.status, NEW.epoch, NEW.holder,
            NEW.expires_at, NEW.due_at, NEW.requested, 0);
END;
CREATE TRIGGER audit_runs_update AFTER UPDATE ON runs
BEGIN
    INSERT INTO audit_runs (at, run, task, kind, input, old_status, new_status, old_epoch, new_epoch, old_holder,
                            new_holder, old_expires, new_expires, due, requested,
                            ordered)
    VALUES (@NOW@, NEW.id, NEW.task_name, @KIND@, NEW.input_hash, OLD.status, NEW.status, OLD.epoch, NEW.epoch,
            OLD.holder, NEW.holder, OLD.expires_at, NEW.expires_at, NEW.due_at, NEW.requested,
            OLD.cancel_requested_at IS NOT NULL);
END;

CREATE TABLE audit_switches (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, task TEXT NOT NULL, enabled BOOLEAN);
CREATE TRIGGER audit_tasks_insert AFTER INSERT ON tasks
BEGIN
    INSERT INTO audit_switches (at, task, enabled) VALUES (@NOW@, NEW.name, NEW.enabled);
END;
CREATE TRIGGER audit_tasks_update AFTER UPDATE ON tasks WHEN NEW.enabled <> OLD.enabled
BEGIN
    INSERT INTO audit_switches (at, task, enabled) VALUES (@NOW@, NEW.name, NEW.enabled);
END;
CREATE TRIGGER audit_tasks_delete AFTER DELETE ON tasks
BEGIN
    INSERT INTO audit_switches (at, task) VALUES (@NOW@, OLD.name);
END;

CREATE TABLE audit_skips (seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, task TEXT NOT NULL);
CREATE TRIGGER audit_tasks_skip AFTER UPDATE ON tasks WHEN NEW.skipped <> OLD.skipped
BEGIN
    INSERT INTO audit_skips (at, task) VALUES (@NOW@, NEW.name);
END;

CREATE TABLE audit_events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL);
CREATE TRIGGER audit_events_insert AFTER INSERT ON events
BEGIN
    INSERT INTO audit_events (task, run, id) VALUES (NEW.task_name, NEW.run_id, NEW.id);
END;
INSERT INTO audit_events (task, run, id) SELECT task_name, run_id, id FROM events ORDER BY rowid;
INSERT INTO audit_switches (at, task, enabled) SELECT 0, name, enabled FROM tasks;
";

const UNFINISHED: &str = "
SELECT t.name || ' ' || r.status FROM runs r JOIN tasks t ON t.name = r.task_name
WHERE r.status = 'running' OR r.status = 'queued' AND t.enabled AND t.destruction_suspended_at IS NULL
UNION ALL SELECT name || ' is ' || phase FROM tasks
WHERE phase IN ('creating', 'deleting') AND destruction_suspended_at IS NULL
UNION ALL SELECT name || ' is suspended' FROM tasks WHERE destruction_suspended_at IS NOT NULL
UNION ALL SELECT name || CASE state_moves WHEN 0 THEN ' knows no move' ELSE ' has two states' END FROM tasks
WHERE state_conflict LIKE '%changed since it was moved%' AND (enabled OR phase = 'deleting')
UNION ALL SELECT task_name || ' has a request' FROM run_requests WHERE refused IS NULL
";

/// `path` must not be in use.
pub(super) async fn install(path: &Path) -> Result<(), sqlx::Error> {
    let mut connection = connect(path).await?;
    let triggers = TRIGGERS.replace("@NOW@", NOW).replace("@KIND@", KIND);
    sqlx::raw_sql(sqlx::AssertSqlSafe(triggers))
        .execute(&mut connection)
        .await?;
    connection.close().await
}

pub(super) async fn read(path: &Path) -> Result<Audit, sqlx::Error> {
    let mut connection = connect(path).await?;
    let (read_at, boot) = clock(async || {
        sqlx::query_scalar("SELECT CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER)")
            .fetch_one(&mut connection)
            .await
    })
    .await?;
    let runs = sqlx::query("SELECT * FROM audit_runs ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let switches = sqlx::query("SELECT * FROM audit_switches ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let skips = sqlx::query("SELECT * FROM audit_skips ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let events = sqlx::query_as("SELECT task, run, id FROM audit_events ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let all_skipped = sqlx::query_scalar("SELECT coalesce(sum(skipped), 0) FROM tasks")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    // The clock of the process that writes is the clock of this database.
    let clock = OneClock { near: read_at };
    let runs = runs.iter().map(run_write);
    let runs = runs.map(|write| Ok(clock.run(write?)));
    let switches = switches.iter().map(switched);
    let switches = switches.map(|switched| {
        let switched = switched?;
        let at = clock.time(switched.at);
        Ok(Switched { at, ..switched })
    });
    let skips = skips.iter().map(skipped);
    let skips = skips.map(|skipped| {
        let skipped = skipped?;
        let at = clock.time(skipped.at);
        Ok(Skipped { at, ..skipped })
    });
    Ok(Audit {
        runs: runs.collect::<Result<_, sqlx::Error>>()?,
        // A single process has no election to judge.
        leaders: Vec::new(),
        switches: switches.collect::<Result<_, sqlx::Error>>()?,
        skips: skips.collect::<Result<_, sqlx::Error>>()?,
        // A file has no timelines.
        settlements: Vec::new(),
        events,
        skipped: all_skipped,
        boot,
        read_at,
    })
}

pub(super) async fn unfinished(path: &Path) -> Result<Vec<String>, sqlx::Error> {
    let mut connection = connect(path).await?;
    let rows = sqlx::query_scalar(UNFINISHED)
        .fetch_all(&mut connection)
        .await?;
    connection.close().await?;
    Ok(rows)
}

async fn connect(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .busy_timeout(Duration::from_secs(10));
    SqliteConnection::connect_with(&options).await
}
