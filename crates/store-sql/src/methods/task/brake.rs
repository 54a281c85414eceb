//! The brake of the fleet: the numbers that the leader notes, and the runs that the brake holds.

use chrono::{DateTime, Utc};
use cts_core::brake::{BrakedRun, NotedFleet};
use cts_core::runs::RunStatus;
use cts_core::{Digest, InstanceCounts, RemoteRun, RunId, TaskName};
use cts_store::cell::{Cell, encoded};
use cts_store::enqueue::BrakedTask;
use cts_store::fields::{Columns, Fields};
use cts_store::{BrakeError, BrakeNote, FirstApply, SeenBrake, StoreError, StoredBrake};
use serde_json::{Value, json};

use crate::{Connection, braked_runs, integer, shrink_limits, sql, text};

const OPERATION: &str = "note the brake of the fleet";

/// Marks a task that the brake holds, in the column `held`: only a member of that name has this text.
macro_rules! by_brake {
    () => {
        "held LIKE '%\"brake\":{%'"
    };
}

/// Reads the brake.
pub async fn read(c: &mut dyn Connection) -> Result<StoredBrake, StoreError> {
    let stored = sql(
        "read the brake",
        "-- brake\nSELECT releases, noted FROM fleet_brake",
    );
    let stored = stored.optional(c, stored_brake).await?;
    with_held(c, stored.unwrap_or_default()).await
}

fn stored_brake(row: &dyn Columns) -> Result<StoredBrake, StoreError> {
    let row = Fields::new(row, "read the brake", "fleet_brake");
    Ok(StoredBrake {
        releases: row.number("releases")?,
        fleet: row.json("noted")?,
        held: 0,
    })
}

/// Adds the number of tasks that it holds.
async fn with_held(c: &mut dyn Connection, brake: StoredBrake) -> Result<StoredBrake, StoreError> {
    if !brake.fleet.is_set() {
        return Ok(brake);
    }
    let held = sql(
        "read the brake",
        concat!(
            "-- brake: tasks that it holds
        SELECT count(*) AS value FROM tasks WHERE ",
            by_brake!()
        ),
    );
    let held = held.one(c, integer).await?;
    Ok(StoredBrake {
        held: u32::try_from(held).unwrap_or(u32::MAX),
        ..brake
    })
}

/// Reads the brake for a change of it. Another change waits until the transaction ends.
async fn locked(c: &mut dyn Connection) -> Result<StoredBrake, StoreError> {
    let first = sql(
        OPERATION,
        "-- note_brake, release_brake: the first
        INSERT INTO fleet_brake (singleton, releases, noted) VALUES (TRUE, 0, '{}') ON CONFLICT DO NOTHING",
    );
    first.execute(c).await?;
    let lock = c.dialect().pick("", " FOR UPDATE");
    let stored = sql(
        OPERATION,
        format!("-- note_brake, release_brake\nSELECT releases, noted FROM fleet_brake{lock}"),
    );
    stored.one(c, stored_brake).await
}

/// Notes the numbers of the fleet; holds and frees runs if this sets or ends the brake. The caller is the leader.
pub async fn note(
    c: &mut dyn Connection,
    releases: u64,
    fleet: &NotedFleet,
) -> Result<BrakeNote, StoreError> {
    let before = locked(c).await?;
    if before.releases != releases {
        return Ok(BrakeNote::Released(with_held(c, before).await?));
    }
    let mut fleet = fleet.clone();
    let mut held = Vec::new();
    match (before.fleet.is_set(), fleet.is_set()) {
        (false, true) => (held, fleet.leased) = hold(c, &fleet.reference()).await?,
        (true, false) => free(c).await?,
        // Found when the brake was set.
        (true, true) => fleet.leased = before.fleet.leased,
        (false, false) => {}
    }
    write(c, releases, &fleet).await?;
    Ok(BrakeNote::Noted {
        held,
        leased: fleet.leased,
    })
}

/// Releases the brake, unless more is lost than the caller has seen.
pub async fn release(
    c: &mut dyn Connection,
    seen: Option<SeenBrake>,
) -> Result<Option<StoredBrake>, BrakeError> {
    let before = locked(c).await?;
    if !before.fleet.is_set() {
        return Ok(None);
    }
    if seen.is_some_and(|seen| seen.is_exceeded_by(&before.fleet)) {
        let NotedFleet { lost, of, .. } = before.fleet;
        return Err(BrakeError::LostMore { lost, of });
    }
    let before = with_held(c, before).await?;
    free(c).await?;
    let mut fleet = before.fleet.clone();
    let now = sql(OPERATION, "-- release_brake: now\nSELECT {now} AS value");
    let now = now.one(c, integer).await?;
    fleet.release(DateTime::from_timestamp_micros(now).unwrap_or_default());
    write(c, before.releases.saturating_add(1), &fleet).await?;
    Ok(Some(before))
}

async fn write(
    c: &mut dyn Connection,
    releases: u64,
    fleet: &NotedFleet,
) -> Result<(), StoreError> {
    let noted = sql(
        OPERATION,
        "-- note_brake, release_brake: write\nUPDATE fleet_brake SET releases = $1, noted = $2",
    );
    let noted = noted.bind(releases).bind(encoded(OPERATION, fleet)?);
    noted.execute(c).await?;
    Ok(())
}

/// An open apply with what its task has applied.
struct OpenApply {
    task: BrakedTask,
    run: RunId,
    status: RunStatus,
    no_retry: bool,
    input: Digest,
    counts: Option<InstanceCounts>,
    remote: Option<RemoteRun>,
    waits: bool,
}

/// Holds the queued applies that take instances away, and marks the leased ones. Returns the tasks of the former, and
/// the latter, those first that wait outside of cts.
async fn hold(
    c: &mut dyn Connection,
    reference: &InstanceCounts,
) -> Result<(Vec<TaskName>, Vec<BrakedRun>), StoreError> {
    let lock = c.dialect().pick("", " FOR NO KEY UPDATE");
    let tasks = sql(
        OPERATION,
        format!(
            "-- note_brake: tasks with open applies, in order; indexes runs_one_queued, runs_one_running
        SELECT name AS value FROM tasks
        WHERE name IN (SELECT task_name FROM runs WHERE status = 'queued' AND kind = 'apply'
                       UNION SELECT task_name FROM runs WHERE status = 'running' AND kind = 'apply')
        ORDER BY name{lock}"
        ),
    );
    let names = tasks.all(c, text).await?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    shrink_limits::count_known(c, &names).await?;
    let (mut braked, mut held, mut changes, mut leased) = (vec![], vec![], vec![], vec![]);
    for mut apply in open_applies(c).await? {
        if apply.counts.is_none() {
            apply.counts = shrink_limits::count(c, apply.input).await?;
        }
        let Some(counts) = &apply.counts else {
            continue;
        };
        let Some(change) = apply.task.held_by(reference, counts) else {
            continue;
        };
        if !apply.no_retry {
            braked.push(apply.run);
        }
        if apply.status == RunStatus::Queued {
            if !apply.no_retry {
                held.push(apply.task.name.clone());
                changes.push((apply.task.name, change));
            }
            continue;
        }
        let remote = apply.remote.filter(RemoteRun::is_open);
        leased.push(BrakedRun {
            task: apply.task.name,
            run: apply.run,
            to_confirm: apply.waits && remote.is_some(),
            address: remote.and_then(|remote| remote.url),
        });
    }
    leased.sort_by_key(|run| !run.to_confirm);
    let marked = sql(
        OPERATION,
        "-- note_brake: runs that take instances away; index runs_pkey
        UPDATE runs SET braked = TRUE WHERE id {in $1} AND status IN ('queued', 'running')",
    );
    marked.bind(&*braked).execute(c).await?;
    let changes: Vec<_> = changes
        .iter()
        .map(|(task, change)| (task.as_str(), change.clone()))
        .collect();
    shrink_limits::write(c, &changes).await?;
    Ok((held, leased))
}

async fn open_applies(c: &mut dyn Connection) -> Result<Vec<OpenApply>, StoreError> {
    let of_status = |status| {
        format!(
            "SELECT t.name, t.spec, t.held, t.applied_instances, t.released_instances, {{now}} AS now,
               r.id, r.status, r.no_retry, r.input_hash, r.remote_run, r.waiting_for IS NOT NULL AS waits,
               (SELECT i.instances FROM inputs i WHERE i.hash = r.input_hash) AS instances,
               (SELECT i.instances FROM runs a JOIN inputs i ON i.hash = a.input_hash
                WHERE a.task_name = t.name AND a.status = 'running' AND a.kind = 'apply' AND a.id <> r.id
                LIMIT 1) AS running_instances
            FROM runs r JOIN tasks t ON t.name = r.task_name
            WHERE r.status = '{status}' AND r.kind = 'apply' AND t.phase = 'ready'"
        )
    };
    let (queued, running) = (of_status("queued"), of_status("running"));
    let text = format!(
        "-- note_brake: open applies; indexes runs_one_queued, runs_one_running\n{queued}\nUNION ALL\n{running}"
    );
    sql(OPERATION, text).all(c, open_apply).await
}

fn open_apply(row: &dyn Columns) -> Result<OpenApply, StoreError> {
    let task = BrakedTask::read(row)?;
    let row = Fields::new(row, OPERATION, "runs").keyed_by_id("id")?;
    Ok(OpenApply {
        task,
        run: row.id("id")?,
        status: row.run_status("status")?,
        no_retry: row.flag("no_retry")?,
        input: row.parse("input_hash")?,
        counts: row.json_if_any("instances")?,
        remote: row.json_if_any("remote_run")?,
        waits: row.flag("waits")?,
    })
}

/// Lets everything run that the brake holds.
async fn free(c: &mut dyn Connection) -> Result<(), StoreError> {
    let tasks = sql(
        OPERATION,
        concat!(
            "-- note_brake, release_brake: tasks that it holds, in order; index runs_braked
        SELECT FROM tasks
        WHERE name IN (SELECT task_name FROM runs WHERE braked AND status IN ('queued', 'running'))
           OR ",
            by_brake!(),
            "
        ORDER BY name FOR NO KEY UPDATE"
        ),
    );
    tasks.on_postgres(c).await?;
    braked_runs::free(c, None).await?;
    let held = sql(
        OPERATION,
        concat!(
            "-- note_brake, release_brake: tasks that it holds
        SELECT t.name, t.spec, t.held, t.applied_instances, t.released_instances, {now} AS now,
               (SELECT i.instances FROM runs a JOIN inputs i ON i.hash = a.input_hash
                WHERE a.task_name = t.name AND a.status = 'running' AND a.kind = 'apply'
                LIMIT 1) AS running_instances
        FROM tasks t WHERE ",
            by_brake!()
        ),
    );
    let held = held.all(c, BrakedTask::read).await?;
    let changes: Vec<_> = held
        .iter()
        .map(|task| (task.name.as_str(), task.freed()))
        .collect();
    shrink_limits::write(c, &changes).await
}

/// Instances of the inputs that the enabled tasks among these have applied last.
pub async fn applied(
    c: &mut dyn Connection,
    names: &[TaskName],
) -> Result<Vec<(TaskName, InstanceCounts)>, StoreError> {
    let tasks = sql(
        "count the instances of inputs",
        "-- applied_instances: the tasks, in order
        SELECT FROM tasks WHERE name {in $1} ORDER BY name FOR NO KEY UPDATE",
    );
    tasks.bind(names).on_postgres(c).await?;
    let texts: Vec<&str> = names.iter().map(TaskName::as_str).collect();
    shrink_limits::count_known(c, &texts).await?;
    let applied = sql(
        "count the instances of inputs",
        "-- applied_instances
        SELECT name, applied_instances FROM tasks
        WHERE name {in $1} AND enabled AND phase = 'ready' AND applied_instances IS NOT NULL",
    );
    let applied = applied.bind(names).all(c, |row| {
        let row = Fields::new(row, "count the instances of inputs", "tasks").keyed("name")?;
        Ok((row.parse("name")?, row.json("applied_instances")?))
    });
    applied.await
}

/// The first apply of each of these tasks since a time.
pub async fn first_applies(
    c: &mut dyn Connection,
    since: &[(TaskName, DateTime<Utc>)],
) -> Result<Vec<(TaskName, DateTime<Utc>, FirstApply)>, StoreError> {
    let rows = since
        .iter()
        .map(|(task, since)| json!({"task": task, "since": since.timestamp_micros()}));
    let rows: Value = rows.collect();
    let applies = sql(
        "find first applies",
        "-- first_applies; indexes runs_one_queued, runs_one_running, runs_results
        SELECT n.task AS name, n.since,
               EXISTS (SELECT 1 FROM runs q WHERE q.task_name = n.task AND q.status = 'queued'
                       AND q.kind = 'apply' AND NOT q.braked)
               OR EXISTS (SELECT 1 FROM runs q WHERE q.task_name = n.task AND q.status = 'running'
                          AND q.kind = 'apply') AS open,
               (SELECT min(r.leased_at) FROM runs r
                WHERE r.task_name = n.task AND r.status = 'succeeded' AND r.kind = 'apply'
                  AND r.leased_at >= n.since) AS started,
               (SELECT min(r.finished_at) FROM runs r
                WHERE r.task_name = n.task AND r.status = 'succeeded' AND r.kind = 'apply'
                  AND r.leased_at >= n.since) AS ended
        FROM {rows $1 n: task TEXT, since BIGINT}",
    );
    let applies = applies.bind(rows.to_string()).all(c, |row| {
        let row = Fields::new(row, "find first applies", "runs").keyed("name")?;
        let task = Cell {
            table: "tasks",
            column: "name",
            row: row.key(),
        };
        let times = row.time_if_any("started")?.zip(row.time_if_any("ended")?);
        let first = match times {
            Some((started, ended)) => Some(FirstApply::Ended { started, ended }),
            None => row.flag("open")?.then_some(FirstApply::Open),
        };
        Ok((task.parse(row.key())?, row.time("since")?, first))
    });
    let applies = applies.await?.into_iter();
    Ok(applies
        .filter_map(|(task, since, first)| Some((task, since, first?)))
        .collect())
}
