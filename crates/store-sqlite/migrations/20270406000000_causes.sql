-- Causes of runs (docs/runs.md#causes).

-- Changes in Consul that arrived within one second and led to runs.
CREATE TABLE causes (
    id       TEXT    NOT NULL PRIMARY KEY,         -- version 7, so that ids sort by time
    begun_at INTEGER NOT NULL,                     -- arrival of the first change
    lines    TEXT    NOT NULL                      -- the changes, JSON
) STRICT;

-- The runs that a cause led to. Without foreign keys, which would look up each run. The rows end with the run or the cause.
CREATE TABLE cause_runs (
    run_id   TEXT    NOT NULL,
    cause_id TEXT    NOT NULL,
    PRIMARY KEY (run_id, cause_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX cause_runs_cause ON cause_runs (cause_id, run_id);

-- Blocked tasks, which name the causes of the blocked input.
CREATE INDEX tasks_blocked ON tasks (name) WHERE held IS NOT NULL;

-- The state of the task of each run of a cause: that of its newest run counts.
CREATE VIEW cause_states AS
    SELECT l.cause_id, r.id AS run_id, r.task_name, t.held,
           CASE WHEN r.status = 'succeeded' THEN 'applied'
                WHEN r.status = 'running' THEN CASE WHEN r.waiting_for IS NULL THEN 'queued' ELSE 'waiting' END
                WHEN r.status = 'queued' THEN CASE
                    WHEN r.awaits IS NOT NULL THEN 'waiting'
                    WHEN r.braked THEN 'blocked'
                    WHEN t.failures > 0 THEN 'failed'
                    ELSE 'queued' END
                -- A later run has applied its data.
                WHEN EXISTS (
                    SELECT 1 FROM runs later
                    WHERE later.task_name = r.task_name AND later.incarnation = r.incarnation AND later.id > r.id
                      AND later.kind = 'apply' AND later.status = 'succeeded') THEN 'applied'
                ELSE r.status END AS state
    FROM cause_runs l
    JOIN runs r ON r.id = l.run_id
    LEFT JOIN tasks t ON t.name = r.task_name AND t.incarnation = r.incarnation;
