//! Triggers that keep every write, and the way to read what they have kept.

use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

/// A schema of its own, so that nothing of cts is touched. Rows of one run or of the leadership are in
/// the order in which they were written: the row was locked.
const TRIGGERS: &str = "
CREATE SCHEMA audit;
CREATE FUNCTION audit.now() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT $$;

CREATE TABLE audit.runs (
    seq BIGSERIAL PRIMARY KEY, at BIGINT NOT NULL, run TEXT NOT NULL, task TEXT NOT NULL,
    old_status TEXT, new_status TEXT, old_epoch BIGINT, new_epoch BIGINT,
    old_holder TEXT, new_holder TEXT, old_expires BIGINT, new_expires BIGINT, due BIGINT);
CREATE FUNCTION audit.run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO audit.runs (at, run, task, new_status, new_epoch, new_holder, new_expires, due)
        VALUES (audit.now(), NEW.id, NEW.task_name, NEW.status, NEW.epoch, NEW.holder, NEW.expires_at,
                NEW.due_at);
    ELSE
        INSERT INTO audit.runs (at, run, task, old_status, new_status, old_epoch, new_epoch, old_holder,
                                new_holder, old_expires, new_expires, due)
        VALUES (audit.now(), NEW.id, NEW.task_name, OLD.status, NEW.status, OLD.epoch, NEW.epoch,
                OLD.holder, NEW.holder, OLD.expires_at, NEW.expires_at, NEW.due_at);
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
";

/// A write to a row of `runs`. Times are microseconds by the database's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunWrite {
    /// When.
    pub at: i64,
    /// Id of the run.
    pub run: String,
    /// Its task.
    pub task: String,
    /// Before; `None` if it was inserted.
    pub old: Option<RunState>,
    /// After.
    pub new: RunState,
    /// Not to be leased before.
    pub due: i64,
}

/// What a row of `runs` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunState {
    /// Status, as it is stored.
    pub status: String,
    /// Epoch of the lease.
    pub epoch: i64,
    /// Worker that holds it.
    pub holder: Option<String>,
    /// End of the lease.
    pub expires: Option<i64>,
}

/// A write to the row of the leadership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderWrite {
    /// When.
    pub at: i64,
    /// Epochs before and after.
    pub epochs: [i64; 2],
    /// Holders before and after.
    pub holders: [Option<String>; 2],
    /// Ends of the lease before and after.
    pub expires: [i64; 2],
}

/// A task was made, switched on or off, or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switched {
    /// When.
    pub at: i64,
    /// Name of the task.
    pub task: String,
    /// `None` if it is gone.
    pub enabled: Option<bool>,
}

/// All that was kept.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Writes to runs, in order.
    pub runs: Vec<RunWrite>,
    /// Writes to the leadership, in order.
    pub leaders: Vec<LeaderWrite>,
    /// Switches of tasks, in order.
    pub switches: Vec<Switched>,
    /// Task, run and id of each event there is, in order.
    pub events: Vec<(String, String, String)>,
    /// Microseconds by the database's clock when the machine was started.
    pub boot: i64,
}

impl Audit {
    /// Begins to keep writes to the database at `url`, whose schema is there.
    pub async fn install(url: &str) -> Result<(), sqlx::Error> {
        let mut connection = connect(url).await?;
        sqlx::raw_sql(AssertSqlSafe(TRIGGERS))
            .execute(&mut connection)
            .await?;
        connection.close().await
    }

    /// Reads what was kept.
    pub async fn read(url: &str) -> Result<Self, sqlx::Error> {
        let mut connection = connect(url).await?;
        let now: i64 = sqlx::query_scalar("SELECT audit.now()")
            .fetch_one(&mut connection)
            .await?;
        let uptime = i64::try_from(crate::sightings::uptime()).unwrap_or_default();
        let runs = sqlx::query("SELECT * FROM audit.runs ORDER BY seq")
            .fetch_all(&mut connection)
            .await?;
        let leaders = sqlx::query("SELECT * FROM audit.leadership ORDER BY seq")
            .fetch_all(&mut connection)
            .await?;
        let switches = sqlx::query("SELECT * FROM audit.switches ORDER BY seq")
            .fetch_all(&mut connection)
            .await?;
        let events = sqlx::query_as(
            "SELECT task_name, run_id::TEXT, id::TEXT FROM events ORDER BY position",
        )
        .fetch_all(&mut connection)
        .await?;
        connection.close().await?;
        Ok(Self {
            runs: runs.iter().map(run_write).collect::<Result<_, _>>()?,
            leaders: leaders.iter().map(leader_write).collect::<Result<_, _>>()?,
            switches: switches.iter().map(switched).collect::<Result<_, _>>()?,
            events,
            boot: now - uptime * 10_000,
        })
    }
}

/// Work that is not done yet: names of tasks with runs that wait or are at work, disabled ones excepted.
pub async fn unfinished(url: &str) -> Result<Vec<String>, sqlx::Error> {
    let mut connection = connect(url).await?;
    let rows = sqlx::query_scalar(
        "SELECT t.name || ' ' || r.status || ' in ' || (r.due_at - cts_now()) / 1000000 || ' s'
        FROM runs r JOIN tasks t ON t.name = r.task_name
        WHERE r.status = 'running' OR r.status = 'queued' AND t.enabled ORDER BY t.name",
    )
    .fetch_all(&mut connection)
    .await?;
    connection.close().await?;
    Ok(rows)
}

async fn connect(url: &str) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect_with(&url.parse::<PgConnectOptions>()?).await
}

fn run_write(row: &PgRow) -> Result<RunWrite, sqlx::Error> {
    let state = |status: &str, epoch: &str, holder: &str, expires: &str| {
        let Some(status) = row.try_get::<Option<String>, _>(status)? else {
            return Ok(None);
        };
        Ok::<_, sqlx::Error>(Some(RunState {
            status,
            epoch: row.try_get(epoch)?,
            holder: row.try_get(holder)?,
            expires: row.try_get(expires)?,
        }))
    };
    Ok(RunWrite {
        at: row.try_get("at")?,
        run: row.try_get("run")?,
        task: row.try_get("task")?,
        old: state("old_status", "old_epoch", "old_holder", "old_expires")?,
        new: state("new_status", "new_epoch", "new_holder", "new_expires")?
            .ok_or(sqlx::Error::RowNotFound)?,
        due: row.try_get("due")?,
    })
}

fn leader_write(row: &PgRow) -> Result<LeaderWrite, sqlx::Error> {
    Ok(LeaderWrite {
        at: row.try_get("at")?,
        epochs: [row.try_get("old_epoch")?, row.try_get("new_epoch")?],
        holders: [row.try_get("old_holder")?, row.try_get("new_holder")?],
        expires: [row.try_get("old_expires")?, row.try_get("new_expires")?],
    })
}

fn switched(row: &PgRow) -> Result<Switched, sqlx::Error> {
    Ok(Switched {
        at: row.try_get("at")?,
        task: row.try_get("task")?,
        enabled: row.try_get("enabled")?,
    })
}
