-- The schema before the first version: all migrations up to 20261202000000, one after the other.

-- 20261121000000_initial

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

-- 20261122000000_cluster

-- Several replicas and workers share a store. In a file of one process there is one of each, which keeps
-- to the same rules.

-- What a worker must be able to do; the same as in the column spec.
ALTER TABLE tasks ADD COLUMN requires_driver TEXT NOT NULL DEFAULT 'terraform';
ALTER TABLE tasks ADD COLUMN requires_version TEXT;          -- NULL for any
ALTER TABLE tasks ADD COLUMN requires_bundle INTEGER NOT NULL DEFAULT 0
    CHECK (requires_bundle IN (0, 1));

CREATE TABLE leadership (
    singleton  INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    epoch      INTEGER NOT NULL,                    -- increases by one with every grant
    holder     TEXT,                                -- member that leads, unless its lease has expired
    expires_at INTEGER,
    CHECK ((holder IS NULL) = (expires_at IS NULL))
) STRICT;

INSERT INTO leadership (singleton, epoch) VALUES (1, 0);

CREATE TABLE members (
    id           TEXT    NOT NULL PRIMARY KEY,
    service_name TEXT    NOT NULL,
    address      TEXT,
    seen_at      INTEGER NOT NULL
) STRICT;

CREATE TABLE workers (
    id            TEXT    NOT NULL PRIMARY KEY,
    host          TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    slots         INTEGER NOT NULL,
    capabilities  TEXT    NOT NULL,                 -- JSON
    draining      INTEGER NOT NULL CHECK (draining IN (0, 1)),        -- by its own word
    told_to_drain INTEGER NOT NULL DEFAULT 0 CHECK (told_to_drain IN (0, 1)),
    created_at    INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL
) STRICT;

CREATE TABLE bundles (
    hash       TEXT    NOT NULL PRIMARY KEY,
    content    BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT;

-- 20261123000000_plans

-- Runs that only plan, and runs with one attempt.

ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan'));
ALTER TABLE runs ADD COLUMN single INTEGER NOT NULL DEFAULT 0 CHECK (single IN (0, 1));
-- What a plan says: all three of a plan that has succeeded, none of any other run.
ALTER TABLE runs ADD COLUMN changes_present INTEGER CHECK (changes_present IN (0, 1));
ALTER TABLE runs ADD COLUMN plan_encoding TEXT CHECK (plan_encoding IN ('plain', 'zstd'));
ALTER TABLE runs ADD COLUMN plan BLOB;

-- Any number of plans may be queued; still one run of a task is running, of whatever kind.
DROP INDEX runs_one_queued;
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';

DROP INDEX runs_ended;
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');

-- A plan changes nothing.
DROP TRIGGER runs_unsettle;
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;

-- 20261124000000_run_time_tasks

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

-- 20261126000000_tried_inputs

-- A requested run swallows no change, and a lost lease counts as an attempt.

-- The input that has had its ordinary attempts since the last change: it was applied, or an ordinary run
-- failed with it for good.
ALTER TABLE tasks ADD COLUMN tried_input TEXT;
-- The end of the last time in which no scheduler served, and when one spoke last. NULL: none has spoken.
ALTER TABLE leadership ADD COLUMN served_since INTEGER;
ALTER TABLE leadership ADD COLUMN served_at INTEGER;

-- 20261126010000_task_incarnations

-- Runs and their events outlive their task. A task that is made under an old name is another one: it has an
-- incarnation of its own, one more than the newest of which there are runs, and its runs and events have the same.

ALTER TABLE tasks ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;

-- The reference to the task belongs to the column, so the column is made anew; whatever speaks of it goes and
-- comes back. The rows of logs, of which there are many, stay where they are.
DROP INDEX runs_one_queued;
DROP INDEX runs_one_running;
DROP INDEX runs_waiting;
DROP INDEX runs_ended;
DROP INDEX runs_task;
DROP TRIGGER runs_unsettle;
ALTER TABLE runs RENAME COLUMN task_name TO earlier_name;
ALTER TABLE runs ADD COLUMN task_name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;
UPDATE runs SET task_name = earlier_name;
ALTER TABLE runs DROP COLUMN earlier_name;

-- What is queued or running is always of the task that is there.
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE UNIQUE INDEX runs_one_running ON runs (task_name) WHERE status = 'running';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX runs_task ON runs (task_name, id);
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;

DROP INDEX events_task;
ALTER TABLE events RENAME COLUMN task_name TO earlier_name;
ALTER TABLE events ADD COLUMN task_name TEXT NOT NULL DEFAULT '';
ALTER TABLE events ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;
UPDATE events SET task_name = earlier_name;
ALTER TABLE events DROP COLUMN earlier_name;
CREATE INDEX events_task ON events (task_name, incarnation, position);

-- 20261126020000_archives

-- What resets of the storage have removed.

CREATE TABLE archives (
    id         TEXT    NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    tasks      INTEGER NOT NULL,                    -- how many were removed
    runs       INTEGER NOT NULL
) STRICT;

CREATE TABLE archived_rows (
    archive_id TEXT    NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,                    -- from 1, without gaps
    table_name TEXT    NOT NULL,
    content    TEXT    NOT NULL,                    -- the columns as JSON
    PRIMARY KEY (archive_id, position)
) STRICT, WITHOUT ROWID;

-- 20261127000000_continuity

-- Whether what was committed last is still there. After a power cut it may not be, nor in a copy that was made while
-- the file was in use: then no input counts as applied.

CREATE TABLE continuity (
    singleton  INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    identity   TEXT,                                -- the boot of the machine that has used the file last
    in_use     INTEGER NOT NULL DEFAULT 0 CHECK (in_use IN (0, 1)),  -- not closed in order since
    changed_at INTEGER NOT NULL DEFAULT 0           -- when the identity became another one
) STRICT;

INSERT INTO continuity (singleton) VALUES (1);

-- 20261128000000_retries

-- When a start of the program last made the failed runs of a task due at once: not with every start of one that
-- is started over and over. Not moved to another store.
CREATE TABLE hastened_tasks (
    task_name   TEXT   NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    hastened_at INTEGER NOT NULL
) STRICT;

-- 20261128000001_claims

-- The call of its holder that a lease was granted to, so that a grant whose answer was lost can be given back.
ALTER TABLE runs ADD COLUMN claim TEXT;

-- 20261129000000_incarnations

-- A member id belongs to one life of one process at a time, and so does the leadership. The incarnation of
-- what an earlier version has written is not known, which is nil.

ALTER TABLE members ADD COLUMN incarnation TEXT NOT NULL
    DEFAULT '00000000-0000-0000-0000-000000000000';

-- Of the last holder; stays when the lease has expired.
ALTER TABLE leadership ADD COLUMN incarnation TEXT;

-- 20261129000001_configurations

-- What the members' files say, and the task blocks that took effect last.

CREATE TABLE member_configurations (
    member_id     TEXT    NOT NULL PRIMARY KEY,
    incarnation   TEXT    NOT NULL,
    fingerprint   TEXT    NOT NULL,                 -- what task blocks are compared by, JSON
    tasks         TEXT    NOT NULL,                 -- JSON
    settings      TEXT    NOT NULL,                 -- JSON
    registered_at INTEGER NOT NULL
) STRICT;

CREATE TABLE configuration_in_force (
    singleton   INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    number      INTEGER NOT NULL,                   -- increases by one with every decision
    fingerprint TEXT    NOT NULL,                   -- JSON
    tasks       TEXT    NOT NULL,                   -- JSON
    decided_by  TEXT    NOT NULL,                   -- member that had started
    decided_at  INTEGER NOT NULL
) STRICT;

-- 20261202000000_contents

-- An input is the list of its contents: the task, and what each of its views showed. Inputs of earlier versions are in one
-- piece, in the column content; in those with contents that is empty.

CREATE TABLE contents (
    id         INTEGER PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,                    -- canonical JSON, encoded as said
    created_at INTEGER NOT NULL
);

-- Short, for the lists of contents: there is one for every input.
ALTER TABLE inputs ADD COLUMN id INTEGER;

UPDATE inputs SET id = rowid;

CREATE UNIQUE INDEX inputs_id ON inputs (id);

CREATE TABLE input_contents (
    input_id   INTEGER NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id INTEGER NOT NULL REFERENCES contents (id),
    position   INTEGER NOT NULL,                    -- in the input, from 0
    PRIMARY KEY (input_id, position)
) WITHOUT ROWID;

CREATE INDEX input_contents_content ON input_contents (content_id);
