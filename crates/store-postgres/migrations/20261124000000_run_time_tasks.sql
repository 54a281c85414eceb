-- Tasks that are created, changed and deleted while the program runs, and runs that somebody asks for.

ALTER TABLE tasks
    ADD COLUMN phase        TEXT   NOT NULL DEFAULT 'ready'
        CHECK (phase IN ('creating', 'ready', 'deleting', 'discarded')),
    -- Changes of what is declared of it, from 1.
    ADD COLUMN revision     BIGINT NOT NULL DEFAULT 1,
    -- Digest of what the configuration declared when that took effect last; NULL for tasks of the API, and
    -- for those of the configuration until it is read again.
    ADD COLUMN configured   TEXT   COLLATE "C",
    -- Of a draft: what becomes of it when its run ends, and the run.
    ADD COLUMN creation     TEXT   CHECK (creation IN ('keep', 'discard')),
    ADD COLUMN creation_run UUID,
    -- What the leader noted last of why it runs or does not; its own JSON.
    ADD COLUMN explanation  TEXT,
    ADD CHECK ((phase IN ('creating', 'discarded')) = (creation_run IS NOT NULL));

-- Tasks of the configuration that the API has deleted: they stay away until the configuration declares
-- something else of them.
CREATE TABLE deleted_tasks (
    name       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    configured TEXT   COLLATE "C" NOT NULL,
    deleted_at BIGINT NOT NULL
);

-- Runs that somebody waits for and the leader has not queued yet. Written under the lock of the task.
CREATE TABLE run_requests (
    run_id       UUID   NOT NULL PRIMARY KEY,
    task_name    TEXT   COLLATE "C" NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    kind         TEXT   NOT NULL CHECK (kind IN ('apply', 'plan', 'check')),
    requested_at BIGINT NOT NULL,
    refused      TEXT,                              -- why there will be no such run
    refused_at   BIGINT,
    CHECK ((refused IS NULL) = (refused_at IS NULL))
);

CREATE INDEX run_requests_task ON run_requests (task_name);

-- A third kind of runs.
ALTER TABLE runs
    DROP CONSTRAINT runs_kind_check,
    ADD CONSTRAINT runs_kind_check CHECK (kind IN ('apply', 'plan', 'check')),
    -- Somebody has asked for this very run.
    ADD COLUMN requested BOOLEAN NOT NULL DEFAULT FALSE;

-- The order in which the runs of a task are listed.
DROP INDEX runs_task;
CREATE INDEX runs_task ON runs (task_name, id);
