-- Causes of runs (docs/runs.md#causes).

-- Changes in Consul that arrived within one second and led to runs.
CREATE TABLE causes (
    id       UUID   NOT NULL PRIMARY KEY,          -- version 7, so that ids sort by time
    begun_at BIGINT NOT NULL,                      -- arrival of the first change
    lines    TEXT   NOT NULL                       -- the changes, JSON
);

-- The runs that a cause led to. Without foreign keys, which would look up each run. The rows end with the run or the cause.
CREATE TABLE cause_runs (
    run_id   UUID   NOT NULL,
    cause_id UUID   NOT NULL,
    PRIMARY KEY (run_id, cause_id)
);

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
    -- Separate look-ups for each run, whatever the statistics are.
    CROSS JOIN LATERAL (
        SELECT id, task_name, incarnation, status, waiting_for, awaits, braked FROM runs WHERE id = l.run_id LIMIT 1) r
    LEFT JOIN LATERAL (
        SELECT held, failures FROM tasks WHERE name = r.task_name AND incarnation = r.incarnation LIMIT 1) t ON TRUE;
