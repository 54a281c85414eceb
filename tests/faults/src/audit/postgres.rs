//! Triggers in Postgres that keep every write.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::KIND;
use super::record::{Audit, Settled, clock};
use super::rows::{leader_write, run_write, skipped, switched};

/// A schema of its own, so that nothing of cts is touched. Rows of one run or of the leadership are in the
/// order in which they were written: the row was locked. `@KIND@` is to be replaced. `drag` makes every write
/// take so much longer.
const TRIGGERS: &str = "
CREATE SCHEMA audit;
CREATE FUNCTION audit.now() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT $$;

CREATE TABLE audit.runs (
    seq BIGSERIAL PRIMARY KEY, at BIGINT NOT NULL, run TEXT NOT NULL, task TEXT NOT NULL, kind TEXT NOT NULL,
    input TEXT NOT NULL, old_status TEXT, new_status TEXT, old_epoch BIGINT, new_epoch BIGINT,
    old_holder TEXT, new_holder TEXT, old_expires BIGINT, new_expires BIGINT, due BIGINT,
    requested BOOLEAN NOT NULL, ordered BOOLEAN NOT NULL);
CREATE FUNCTION audit.run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO audit.runs (at, run, task, kind, input, new_status, new_epoch, new_holder, new_expires, due,
                                requested, ordered)
        VALUES (audit.now(), NEW.id, NEW.task_name, @KIND@, NEW.input_hash, NEW.status, NEW.epoch,
                NEW.holder, NEW.expires_at, NEW.due_at, NEW.requested, FALSE);
    ELSE
        INSERT INTO audit.runs (at, run, task, kind, input, old_status, new_status, old_epoch, new_epoch, old_holder,
                                new_holder, old_expires, new_expires, due, requested,
                                ordered)
        VALUES (audit.now(), NEW.id, NEW.task_name, @KIND@, NEW.input_hash, OLD.status, NEW.status, OLD.epoch,
                NEW.epoch, OLD.holder, NEW.holder, OLD.expires_at, NEW.expires_at, NEW.due_at,
                NEW.requested, OLD.cancel_requested_at IS NOT NULL);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_runs AFTER INSERT OR UPDATE ON runs FOR EACH ROW EXECUTE FUNCTION audit.run();

CREATE TABLE audit.leadership (
    seq BIGSERIAL PRIMARY KEY, at BIGINT NOT NULL, old_epoch BIGINT NOT NULL, new_epoch BIGINT NOT NULL,
    old_holder TEXT, new_holder TEXT, old_expires BIGINT NOT NULL, new_expires BIGINT NOT NULL);
CREATE FUNCTION audit.leader() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.leadership (at, old_epoch, new_epoch, old_holder, new_holder, old_expires, new_expires)
    VALUES (audit.now(), OLD.epoch, NEW.epoch, OLD.holder, NEW.holder, OLD.expires_at, NEW.expires_at);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_leadership AFTER UPDATE ON leadership FOR EACH ROW EXECUTE FUNCTION audit.leader();

CREATE TABLE audit.switches (
    seq BIGSERIAL PRIMARY KEY, at BIGINT NOT NULL, task TEXT NOT NULL, enabled BOOLEAN);
CREATE FUNCTION audit.switch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO audit.switches (at, task) VALUES (audit.now(), OLD.name);
    ELSIF TG_OP = 'INSERT' OR NEW.enabled <> OLD.enabled THEN
        INSERT INTO audit.switches (at, task, enabled) VALUES (audit.now(), NEW.name, NEW.enabled);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_tasks AFTER INSERT OR UPDATE OR DELETE ON tasks
    FOR EACH ROW EXECUTE FUNCTION audit.switch();

INSERT INTO audit.switches (at, task, enabled) SELECT 0, name, enabled FROM tasks;

CREATE TABLE audit.skips (seq BIGSERIAL PRIMARY KEY, at BIGINT NOT NULL, task TEXT NOT NULL);
CREATE FUNCTION audit.skip() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.skips (at, task) VALUES (audit.now(), NEW.name);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_skips AFTER UPDATE ON tasks FOR EACH ROW
    WHEN (NEW.skipped <> OLD.skipped) EXECUTE FUNCTION audit.skip();

CREATE TABLE audit.settlements (seq BIGSERIAL PRIMARY KEY, at BIGINT NOT NULL, trusted BOOLEAN NOT NULL);
CREATE FUNCTION audit.settle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.settlements (at, trusted) VALUES (audit.now(), NEW.settled = 'trusted');
    RETURN NULL;
END $$;
CREATE TRIGGER audit_settlements AFTER UPDATE ON continuity FOR EACH ROW
    WHEN (OLD.settled IS NULL AND NEW.settled IS NOT NULL) EXECUTE FUNCTION audit.settle();

CREATE TABLE audit.events (seq BIGSERIAL PRIMARY KEY, task TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL);
CREATE FUNCTION audit.event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.events (task, run, id) VALUES (NEW.task_name, NEW.run_id, NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_events AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION audit.event();
INSERT INTO audit.events (task, run, id) SELECT task_name, run_id, id FROM events ORDER BY position;

CREATE TABLE audit.drag (milliseconds BIGINT NOT NULL);
CREATE FUNCTION audit.drag() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE pause BIGINT;
BEGIN
    SELECT max(milliseconds) INTO pause FROM audit.drag;
    IF pause IS NOT NULL THEN
        PERFORM pg_sleep(pause / 1000.0);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON runs
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON tasks
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON leadership
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
CREATE TRIGGER audit_drag BEFORE INSERT OR UPDATE OR DELETE ON run_requests
    FOR EACH STATEMENT EXECUTE FUNCTION audit.drag();
";

const UNFINISHED: &str = "
SELECT t.name || ' ' || r.status || ' in ' || (r.due_at - cts_now()) / 1000000 || ' s'
FROM runs r JOIN tasks t ON t.name = r.task_name
WHERE r.status = 'running' OR r.status = 'queued' AND t.enabled AND t.destruction_suspended_at IS NULL
UNION ALL SELECT name || ' is ' || phase FROM tasks
WHERE phase IN ('creating', 'deleting') AND destruction_suspended_at IS NULL
UNION ALL SELECT name || ' is suspended' FROM tasks WHERE destruction_suspended_at IS NOT NULL
UNION ALL SELECT name || CASE state_moves WHEN 0 THEN ' knows no move' ELSE ' has two states' END FROM tasks
WHERE state_conflict LIKE '%changed since it was moved%' AND (enabled OR phase = 'deleting')
UNION ALL SELECT task_name || ' has a request' FROM run_requests WHERE refused IS NULL
";

pub(super) async fn install(url: &str) -> Result<(), sqlx::Error> {
    let mut connection = connect(url).await?;
    sqlx::raw_sql(AssertSqlSafe(TRIGGERS.replace("@KIND@", KIND)))
        .execute(&mut connection)
        .await?;
    connection.close().await
}

pub(super) async fn read(url: &str) -> Result<Audit, sqlx::Error> {
    let mut connection = connect(url).await?;
    let (read_at, boot) = clock(async || {
        sqlx::query_scalar("SELECT audit.now()")
            .fetch_one(&mut connection)
            .await
    })
    .await?;
    let runs = sqlx::query("SELECT * FROM audit.runs ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let leaders = sqlx::query("SELECT * FROM audit.leadership ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let switches = sqlx::query("SELECT * FROM audit.switches ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let skips = sqlx::query("SELECT * FROM audit.skips ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let events = sqlx::query_as("SELECT task, run, id FROM audit.events ORDER BY seq")
        .fetch_all(&mut connection)
        .await?;
    let settlements: Vec<(i64, bool)> =
        sqlx::query_as("SELECT at, trusted FROM audit.settlements ORDER BY seq")
            .fetch_all(&mut connection)
            .await?;
    let settlements = settlements.into_iter();
    let all_skipped = sqlx::query_scalar("SELECT coalesce(sum(skipped), 0)::BIGINT FROM tasks")
        .fetch_one(&mut connection)
        .await?;
    connection.close().await?;
    Ok(Audit {
        runs: runs.iter().map(run_write).collect::<Result<_, _>>()?,
        leaders: leaders.iter().map(leader_write).collect::<Result<_, _>>()?,
        switches: switches.iter().map(switched).collect::<Result<_, _>>()?,
        skips: skips.iter().map(skipped).collect::<Result<_, _>>()?,
        settlements: settlements
            .map(|(at, trusted)| Settled { at, trusted })
            .collect(),
        events,
        skipped: all_skipped,
        boot,
        read_at,
    })
}

pub(super) async fn unfinished(url: &str) -> Result<Vec<String>, sqlx::Error> {
    let mut connection = connect(url).await?;
    let rows = sqlx::query_scalar(UNFINISHED)
        .fetch_all(&mut connection)
        .await?;
    connection.close().await?;
    Ok(rows)
}

/// Makes every write take so much longer from now on, or no longer than usual.
pub(crate) async fn drag(url: &str, each: Option<Duration>) -> Result<(), sqlx::Error> {
    let mut connection = connect(url).await?;
    sqlx::query("DELETE FROM audit.drag")
        .execute(&mut connection)
        .await?;
    if let Some(each) = each {
        sqlx::query("INSERT INTO audit.drag VALUES ($1)")
            .bind(i64::try_from(each.as_millis()).unwrap_or(i64::MAX))
            .execute(&mut connection)
            .await?;
    }
    connection.close().await
}

/// Takes the locks of `statement`, which may take a while, and holds them so long.
pub(crate) async fn lock(
    url: &str,
    statement: &'static str,
    time: Duration,
) -> Result<(), sqlx::Error> {
    let mut connection = connect(url).await?;
    let mut transaction = connection.begin().await?;
    sqlx::query("SET LOCAL lock_timeout = '5s'")
        .execute(&mut *transaction)
        .await?;
    sqlx::query(statement).execute(&mut *transaction).await?;
    tokio::time::sleep(time).await;
    transaction.rollback().await?;
    connection.close().await
}

async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect_with(&url.parse::<PgConnectOptions>()?).await
}
