-- Tasks that are created, changed and deleted while the program runs, and runs that somebody asks for.

ALTER TABLE tasks ADD COLUMN phase TEXT NOT NULL DEFAULT 'ready'
    CHECK (phase IN ('creating', 'ready', 'deleting', 'discarded'));
-- Changes of what is declared of it, from 1.
ALTER TABLE tasks ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
-- Digest of what the configuration declared when that took effect last; NULL for tasks of the API, and for
-- those of the configuration until it is read again.
ALTER TABLE tasks ADD COLUMN configured TEXT;
-- Of a draft: what becomes of it when its run ends, and the run.
ALTER TABLE tasks ADD COLUMN creation TEXT CHECK (creation IN ('keep', 'discard'));
ALTER TABLE tasks ADD COLUMN creation_run TEXT
    CHECK ((phase IN ('creating', 'discarded')) = (creation_run IS NOT NULL));
-- What the leader noted last of why it runs or does not; its own JSON.
ALTER TABLE tasks ADD COLUMN explanation TEXT;

-- Tasks of the configuration that the API has deleted: they stay away until the configuration declares
-- something else of them.
CREATE TABLE deleted_tasks (
    name       TEXT    NOT NULL PRIMARY KEY,
    configured TEXT    NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT;

-- Runs that somebody waits for and the leader has not queued yet.
CREATE TABLE run_requests (
    run_id       TEXT    NOT NULL PRIMARY KEY,
    task_name    TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    kind         TEXT    NOT NULL CHECK (kind IN ('apply', 'plan', 'check')),
    requested_at INTEGER NOT NULL,
    refused      TEXT,                              -- why there will be no such run
    refused_at   INTEGER,
    CHECK ((refused IS NULL) = (refused_at IS NULL))
) STRICT;

CREATE INDEX run_requests_task ON run_requests (task_name);

-- A third kind of runs. The check belongs to the column, so the column is made anew; whatever speaks of it
-- goes and comes back.
DROP INDEX runs_one_queued;
DROP INDEX runs_ended;
DROP TRIGGER runs_unsettle;
ALTER TABLE runs RENAME COLUMN kind TO earlier_kind;
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'apply'
    CHECK (kind IN ('apply', 'plan', 'check'));
UPDATE runs SET kind = earlier_kind WHERE earlier_kind <> 'apply';
ALTER TABLE runs DROP COLUMN earlier_kind;
-- Somebody has asked for this very run.
ALTER TABLE runs ADD COLUMN requested INTEGER NOT NULL DEFAULT 0 CHECK (requested IN (0, 1));

CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;

-- The order in which the runs of a task are listed.
DROP INDEX runs_task;
CREATE INDEX runs_task ON runs (task_name, id);
