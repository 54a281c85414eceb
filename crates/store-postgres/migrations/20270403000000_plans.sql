-- Plans of runs as data (docs/runs.md#plans-as-data).

-- The newest plan of a run.
CREATE TABLE plans (
    run_id      UUID   NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    task_name   TEXT   COLLATE "C" NOT NULL,
    recorded_at BIGINT NOT NULL,
    bytes       BIGINT NOT NULL,                 -- of the content
    content     BYTEA  NOT NULL                  -- a message PlanData, compressed with zstd
);

-- The content is compressed already.
ALTER TABLE plans ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE INDEX plans_task ON plans (task_name);
CREATE INDEX plans_age ON plans (recorded_at, run_id, bytes);

-- The key for the fingerprints of plans.
CREATE TABLE plan_key (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    key        BYTEA   NOT NULL,
    created_at BIGINT  NOT NULL
);

-- A scheduler warned that plans are near their limit.
ALTER TABLE housekeeping ADD COLUMN plans_warned BOOLEAN NOT NULL DEFAULT FALSE;
