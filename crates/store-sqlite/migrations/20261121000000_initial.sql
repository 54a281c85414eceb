-- Times are microseconds since 1970-01-01 UTC. Digests are SHA-256 in lower-case hexadecimal, ids
-- UUIDs in their usual text form.

CREATE TABLE tasks (
    name           TEXT    NOT NULL PRIMARY KEY,
    position       INTEGER NOT NULL,                -- order of the configuration, then of creation
    origin         TEXT    NOT NULL CHECK (origin IN ('config', 'api')),
    enabled        INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    skip_unchanged INTEGER NOT NULL CHECK (skip_unchanged IN (0, 1)),
    retry_failed   INTEGER NOT NULL CHECK (retry_failed IN (0, 1)),
    spec           TEXT    NOT NULL,                -- the whole task as JSON
    event_config   TEXT    NOT NULL,                -- of it, what events tell (their column config)
    settled_input  TEXT,                            -- input that is applied and not touched since
    failures       INTEGER NOT NULL DEFAULT 0,      -- failed runs since the last success
    skipped        INTEGER NOT NULL DEFAULT 0,      -- inputs that needed no run
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE inputs (
    hash       TEXT    NOT NULL PRIMARY KEY,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,                    -- canonical JSON, encoded as said
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE runs (
    id          TEXT    NOT NULL PRIMARY KEY,
    task_name   TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    input_hash  TEXT    NOT NULL REFERENCES inputs (hash),
    status      TEXT    NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    errors      TEXT    NOT NULL DEFAULT '[]',      -- errors of the attempts, oldest first, JSON
    epoch       INTEGER NOT NULL DEFAULT 0,         -- increases by one with every grant
    holder      TEXT,                               -- worker that holds the lease
    expires_at  INTEGER,                            -- end of the lease
    due_at      INTEGER NOT NULL,                   -- not to be leased before
    started_at  INTEGER,                            -- begin of the first attempt
    finished_at INTEGER,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    CHECK ((status = 'running') = (holder IS NOT NULL)),
    CHECK ((status = 'running') = (expires_at IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued';
CREATE UNIQUE INDEX runs_one_running ON runs (task_name) WHERE status = 'running';
CREATE INDEX runs_due ON runs (due_at, id) WHERE status = 'queued';
CREATE INDEX runs_task ON runs (task_name);
-- The order in which old runs are forgotten.
CREATE INDEX runs_ended ON runs (task_name, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX runs_input ON runs (input_hash);

-- From the moment a run is leased Terraform may change anything, so nothing counts as applied. A
-- trigger, so that a lease is one statement.
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs WHEN NEW.status = 'running'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;

CREATE TABLE events (
    position   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- order in which they happened
    id         TEXT    NOT NULL UNIQUE,
    task_name  TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    run_id     TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    success    INTEGER NOT NULL CHECK (success IN (0, 1)),
    start_time INTEGER NOT NULL,
    end_time   INTEGER NOT NULL,
    error      TEXT,
    config     TEXT    NOT NULL                     -- deprecated member `config` of the API, JSON
) STRICT;

CREATE INDEX events_task ON events (task_name, position);
CREATE INDEX events_run ON events (run_id);

CREATE TABLE log_lines (
    run_id   TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,                      -- from 1, without gaps
    stream   TEXT    NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    line     TEXT    NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
