//! Records of writes, and where they are kept.

use std::collections::BTreeMap;

use super::connection::Connection;
use super::input_text::{declarations, texts};
use super::rows::OneClock;
use crate::database::Database;
use crate::processes::uptime;

/// A write to a row of `runs`. Times are microseconds by the database's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunWrite {
    /// When.
    pub at: i64,
    /// Id of the run.
    pub run: String,
    /// Its task.
    pub task: String,
    /// `apply`, `plan`, `check`, `destroy` or `destroy-plan`.
    pub kind: String,
    /// Digest of its input.
    pub input: String,
    /// State before the write; `None` if the row was inserted.
    pub old: Option<RunState>,
    /// State after the write.
    pub new: RunState,
    /// The run is not leased before this.
    pub due: i64,
    /// Whether the run was requested.
    pub requested: bool,
    /// Whether an order to stop it existed before this write.
    pub ordered: bool,
}

/// The year 9000, in microseconds since 1970: a run that is due later has no time.
const NEVER: i64 = 221_845_392_000_000_000;

impl RunWrite {
    /// Whether the run is a destruction that waits until somebody asks for it again.
    pub(crate) fn is_suspended(&self) -> bool {
        self.kind == "destroy" && self.is_held()
    }

    /// Whether the run waits without a time: for the end of the brake of the fleet, or as a suspended destruction.
    pub(crate) fn is_held(&self) -> bool {
        self.new.status == "queued" && self.due > NEVER
    }
}

/// The columns of a row of `runs`.
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

impl RunState {
    /// Whether the run ends once its remote run has ended, and no worker does that yet.
    pub fn awaits_ending(&self) -> bool {
        self.status == "running" && self.holder.as_deref() == Some("")
    }
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
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Switched {
    /// When.
    pub at: i64,
    /// Name of the task.
    pub task: String,
    /// `None` if it is gone.
    pub enabled: Option<bool>,
}

/// An input of a task needed no run.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Skipped {
    /// When.
    pub at: i64,
    /// Name of the task.
    pub task: String,
}

/// The decision which tasks are trusted after a switch to another timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, sqlx::FromRow)]
pub struct Settled {
    /// When.
    pub at: i64,
    /// Whether all workers have vouched; else all tasks run once.
    pub trusted: bool,
}

const LOOKS_AT_THE_CLOCK: usize = 20;

/// All that was kept.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    /// Writes to runs, in order.
    pub runs: Vec<RunWrite>,
    /// Writes to the leadership, in order.
    pub leaders: Vec<LeaderWrite>,
    /// Switches of tasks, in order.
    pub switches: Vec<Switched>,
    /// Inputs that needed no run, in order.
    pub skips: Vec<Skipped>,
    /// Decisions after switches to another timeline, in order.
    pub settlements: Vec<Settled>,
    /// Task, run and id of each stored event, in order.
    pub events: Vec<(String, String, String)>,
    /// Texts that the module of the suite makes of the inputs, by the digest of the input.
    pub texts: BTreeMap<String, String>,
    /// Declarations of the tasks, by the digest of the input.
    pub declarations: BTreeMap<String, String>,
    /// Inputs that needed no run, of the existing tasks.
    pub skipped: i64,
    /// Microseconds by the database's clock when the machine was started.
    pub boot: i64,
    /// When this was read.
    pub read_at: i64,
}

impl Audit {
    /// Begins to keep writes to the database, whose schema is there. Nothing else uses a SQLite file meanwhile.
    /// `brake` tells whether the fleet has one.
    pub(crate) async fn install(database: &Database, brake: bool) -> Result<(), sqlx::Error> {
        Connection::open(database).await?.install(brake).await
    }

    /// Reads the records.
    pub(crate) async fn read(database: &Database) -> Result<Self, sqlx::Error> {
        let mut connection = Connection::open(database).await?;
        let (read_at, boot) = clock(async || connection.one("SELECT audit.now()").await).await?;
        let parts = connection.all(INPUTS).await?;
        let mut audit = Self {
            runs: connection
                .all("SELECT * FROM audit.runs ORDER BY seq")
                .await?,
            leaders: connection
                .all("SELECT * FROM audit.leadership ORDER BY seq")
                .await?,
            switches: connection
                .all("SELECT * FROM audit.switches ORDER BY seq")
                .await?,
            skips: connection
                .all("SELECT * FROM audit.skips ORDER BY seq")
                .await?,
            settlements: connection
                .all("SELECT * FROM audit.settlements ORDER BY seq")
                .await?,
            events: connection
                .all("SELECT task, run, id FROM audit.events ORDER BY seq")
                .await?,
            declarations: declarations(&parts),
            texts: texts(parts),
            skipped: connection
                .one("SELECT CAST(coalesce(sum(skipped), 0) AS BIGINT) FROM tasks")
                .await?,
            boot,
            read_at,
        };
        connection.close().await?;
        if matches!(database, Database::Sqlite { .. }) {
            // The clock of the process that writes is the clock of this database.
            OneClock { near: read_at }.correct(&mut audit);
        }
        Ok(audit)
    }

    /// A moment of the machine's clock, in hundredths of a second since it was started, by the database's clock.
    pub fn by_database(&self, hundredths: u64) -> i64 {
        self.boot + i64::try_from(hundredths).unwrap_or_default() * 10_000
    }
}

/// The time by the database's clock, and when the machine was started by that clock. The quickest of several
/// queries counts: on a busy machine an answer may come late.
async fn clock(
    mut now: impl AsyncFnMut() -> Result<i64, sqlx::Error>,
) -> Result<(i64, i64), sqlx::Error> {
    let mut quickest: Option<(u64, i64, i64)> = None;
    for _ in 0..LOOKS_AT_THE_CLOCK {
        let before = uptime();
        let now = now().await?;
        let took = uptime().saturating_sub(before);
        let boot = now - i64::try_from(before + took / 2).unwrap_or_default() * 10_000;
        if quickest.is_none_or(|(other, ..)| took < other) {
            quickest = Some((took, now, boot));
        }
    }
    let (_took, now, boot) = quickest.unwrap_or_default();
    Ok((now, boot))
}

/// Inputs by digest, with their contents in order. An input that was removed with its runs and is needed again is stored a
/// second time.
const INPUTS: &str = "
SELECT i.hash, p.position, c.encoding, c.bytes
FROM (SELECT hash, max(input) AS input FROM audit.inputs GROUP BY hash) i
JOIN audit.parts p ON p.input = i.input JOIN audit.contents c ON c.content = p.content
ORDER BY i.hash, p.position";

const UNFINISHED: &str = "
SELECT t.name || ' ' || r.status || ' in ' || ((r.due_at - audit.now()) / 1000000) || ' s'
FROM runs r JOIN tasks t ON t.name = r.task_name
WHERE r.status = 'running' OR r.status = 'queued' AND t.enabled AND t.destruction_suspended_at IS NULL
UNION ALL SELECT name || ' is ' || phase FROM tasks
WHERE phase IN ('creating', 'deleting') AND destruction_suspended_at IS NULL
UNION ALL SELECT name || ' is suspended' FROM tasks WHERE destruction_suspended_at IS NOT NULL
UNION ALL SELECT name || CASE WHEN state_moved_serial IS NULL THEN ' knows no move' ELSE ' has two states' END FROM tasks
WHERE state_conflict LIKE '%changed since it was moved%' AND (enabled OR phase = 'deleting')
UNION ALL SELECT task_name || ' has a request' FROM run_requests WHERE refused IS NULL
";

/// Unfinished work, with the name of its task: runs that wait or are at work (runs of disabled tasks may wait),
/// requests without a run, tasks that are being created or deleted.
pub(crate) async fn unfinished(database: &Database) -> Result<Vec<String>, sqlx::Error> {
    let mut connection = Connection::open(database).await?;
    let rows: Vec<(String,)> = connection.all(UNFINISHED).await?;
    connection.close().await?;
    Ok(rows.into_iter().map(|(text,)| text).collect())
}
