-- Plans of runs as data (docs/runs.md#plans-as-data).

-- The newest plan of a run.
CREATE TABLE plans (
    run_id      TEXT    NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    task_name   TEXT    NOT NULL,
    recorded_at INTEGER NOT NULL,
    bytes       INTEGER NOT NULL,                -- of the content
    content     BLOB    NOT NULL                 -- a message PlanData, compressed with zstd
) STRICT;

CREATE INDEX plans_task ON plans (task_name);
CREATE INDEX plans_age ON plans (recorded_at, run_id, bytes);

-- The key for the fingerprints of plans.
CREATE TABLE plan_key (
    singleton  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    key        BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- A scheduler warned that plans are near their limit.
ALTER TABLE housekeeping ADD COLUMN plans_warned INTEGER NOT NULL DEFAULT 0 CHECK (plans_warned IN (0, 1));
