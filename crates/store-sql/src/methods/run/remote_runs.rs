//! Records of remote runs.

use cts_core::{RemoteRun, RemoteRuns, TaskRemoteRun};
use cts_store::cell::encoded;
use cts_store::{LeaseError, decode};

use crate::leases::{Held, input, lock_task_of, lost, of_lease};
use crate::{Connection, sql};

const RECORD: &str = "record a remote run";

/// Records the remote run of a leased run and of its task, with the input of the run, which does not change during a
/// lease. A remote run that is given up may be for any input.
pub async fn record(
    c: &mut dyn Connection,
    held: Held<'_>,
    remote: &RemoteRun,
) -> Result<(), LeaseError> {
    // Leases end only under this lock.
    lock_task_of(c, held.0).await?;
    let input = if remote.given_up {
        remote.input
    } else {
        Some(input(c, held).await?)
    };
    let remote = &RemoteRun {
        input,
        ..remote.clone()
    };
    let recorded = of_lease(
        RECORD,
        "-- record_remote_run: it keeps the group of its run until it has ended
        UPDATE runs SET remote_run = $4,
            remote_group = CASE WHEN NOT $5 AND coalesce(destroys, kind) = 'apply' THEN
                coalesce(concurrency_group, (
                    SELECT t.concurrency_group FROM tasks t WHERE t.name = task_name)) END
        WHERE id = $1 AND epoch = $2 AND holder = $3 AND status IS NOT DISTINCT FROM 'running'",
        held,
    );
    let recorded = recorded.bind(encoded(RECORD, remote)?).bind(remote.ended);
    if recorded.execute(c).await? == 0 {
        return Err(lost(held));
    }
    let newest = TaskRemoteRun {
        run: held.0,
        remote: remote.clone(),
    };
    sql(
        RECORD,
        "-- record_remote_run: the newest of the task that changes something
        UPDATE tasks SET remote_run = $2
        WHERE name = (SELECT task_name FROM runs
                      WHERE id = $1 AND (kind = 'apply' OR destroys = 'apply'))",
    )
    .bind(held.0)
    .bind(encoded(RECORD, &newest)?)
    .execute(c)
    .await?;
    Ok(())
}

/// Reads the remote runs of a leased run and of its task.
pub async fn of_run(c: &mut dyn Connection, held: Held<'_>) -> Result<RemoteRuns, LeaseError> {
    let found = of_lease(
        "read remote runs",
        "-- remote_runs
        SELECT r.id, r.input_hash, r.remote_run,
               (SELECT t.remote_run FROM tasks t WHERE t.name = r.task_name) AS task_remote_run
        FROM runs r
        WHERE r.id = $1 AND r.epoch = $2 AND r.holder = $3
          AND r.status IS NOT DISTINCT FROM 'running'",
        held,
    );
    let found = found.optional(c, decode::remote_runs).await?;
    found.ok_or_else(|| lost(held))
}
