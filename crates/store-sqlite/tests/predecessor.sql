-- The schema before the first version: its migrations up to 20261202000000, without their comments.
CREATE TABLE tasks (
    name           TEXT    NOT NULL PRIMARY KEY,
    position       INTEGER NOT NULL,
    origin         TEXT    NOT NULL CHECK (origin IN ('config', 'api')),
    enabled        INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    skip_unchanged INTEGER NOT NULL CHECK (skip_unchanged IN (0, 1)),
    retry_failed   INTEGER NOT NULL CHECK (retry_failed IN (0, 1)),
    spec           TEXT    NOT NULL,
    event_config   TEXT    NOT NULL,
    settled_input  TEXT,
    failures       INTEGER NOT NULL DEFAULT 0,
    skipped        INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
) STRICT;
CREATE TABLE inputs (
    hash       TEXT    NOT NULL PRIMARY KEY,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE runs (
    id          TEXT    NOT NULL PRIMARY KEY,
    task_name   TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    input_hash  TEXT    NOT NULL REFERENCES inputs (hash),
    status      TEXT    NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    attempts    INTEGER NOT NULL DEFAULT 0,
    errors      TEXT    NOT NULL DEFAULT '[]',
    epoch       INTEGER NOT NULL DEFAULT 0,
    holder      TEXT,
    expires_at  INTEGER,
    due_at      INTEGER NOT NULL,
    started_at  INTEGER,
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
CREATE INDEX runs_ended ON runs (task_name, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX runs_input ON runs (input_hash);
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs WHEN NEW.status = 'running'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;
CREATE TABLE events (
    position   INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id         TEXT    NOT NULL UNIQUE,
    task_name  TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    run_id     TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    success    INTEGER NOT NULL CHECK (success IN (0, 1)),
    start_time INTEGER NOT NULL,
    end_time   INTEGER NOT NULL,
    error      TEXT,
    config     TEXT    NOT NULL
) STRICT;
CREATE INDEX events_task ON events (task_name, position);
CREATE INDEX events_run ON events (run_id);
CREATE TABLE log_lines (
    run_id   TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    stream   TEXT    NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    line     TEXT    NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
ALTER TABLE tasks ADD COLUMN requires_driver TEXT NOT NULL DEFAULT 'terraform';
ALTER TABLE tasks ADD COLUMN requires_version TEXT;
ALTER TABLE tasks ADD COLUMN requires_bundle INTEGER NOT NULL DEFAULT 0
    CHECK (requires_bundle IN (0, 1));
CREATE TABLE leadership (
    singleton  INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    epoch      INTEGER NOT NULL,
    holder     TEXT,
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
    capabilities  TEXT    NOT NULL,
    draining      INTEGER NOT NULL CHECK (draining IN (0, 1)),
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
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan'));
ALTER TABLE runs ADD COLUMN single INTEGER NOT NULL DEFAULT 0 CHECK (single IN (0, 1));
ALTER TABLE runs ADD COLUMN changes_present INTEGER CHECK (changes_present IN (0, 1));
ALTER TABLE runs ADD COLUMN plan_encoding TEXT CHECK (plan_encoding IN ('plain', 'zstd'));
ALTER TABLE runs ADD COLUMN plan BLOB;
DROP INDEX runs_one_queued;
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';
DROP INDEX runs_ended;
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');
DROP TRIGGER runs_unsettle;
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;
ALTER TABLE tasks ADD COLUMN phase TEXT NOT NULL DEFAULT 'ready'
    CHECK (phase IN ('creating', 'ready', 'deleting', 'discarded'));
ALTER TABLE tasks ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE tasks ADD COLUMN configured TEXT;
ALTER TABLE tasks ADD COLUMN creation TEXT CHECK (creation IN ('keep', 'discard'));
ALTER TABLE tasks ADD COLUMN creation_run TEXT
    CHECK ((phase IN ('creating', 'discarded')) = (creation_run IS NOT NULL));
ALTER TABLE tasks ADD COLUMN explanation TEXT;
CREATE TABLE deleted_tasks (
    name       TEXT    NOT NULL PRIMARY KEY,
    configured TEXT    NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT;
CREATE TABLE run_requests (
    run_id       TEXT    NOT NULL PRIMARY KEY,
    task_name    TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    kind         TEXT    NOT NULL CHECK (kind IN ('apply', 'plan', 'check')),
    requested_at INTEGER NOT NULL,
    refused      TEXT,
    refused_at   INTEGER,
    CHECK ((refused IS NULL) = (refused_at IS NULL))
) STRICT;
CREATE INDEX run_requests_task ON run_requests (task_name);
DROP INDEX runs_one_queued;
DROP INDEX runs_ended;
DROP TRIGGER runs_unsettle;
ALTER TABLE runs RENAME COLUMN kind TO earlier_kind;
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'apply'
    CHECK (kind IN ('apply', 'plan', 'check'));
UPDATE runs SET kind = earlier_kind WHERE earlier_kind <> 'apply';
ALTER TABLE runs DROP COLUMN earlier_kind;
ALTER TABLE runs ADD COLUMN requested INTEGER NOT NULL DEFAULT 0 CHECK (requested IN (0, 1));
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE TRIGGER runs_unsettle AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET settled_input = NULL WHERE name = NEW.task_name;
END;
DROP INDEX runs_task;
CREATE INDEX runs_task ON runs (task_name, id);
ALTER TABLE tasks ADD COLUMN tried_input TEXT;
ALTER TABLE leadership ADD COLUMN served_since INTEGER;
ALTER TABLE leadership ADD COLUMN served_at INTEGER;
ALTER TABLE tasks ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 1;
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
CREATE TABLE archives (
    id         TEXT    NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    tasks      INTEGER NOT NULL,
    runs       INTEGER NOT NULL
) STRICT;
CREATE TABLE archived_rows (
    archive_id TEXT    NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    table_name TEXT    NOT NULL,
    content    TEXT    NOT NULL,
    PRIMARY KEY (archive_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE continuity (
    singleton  INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    identity   TEXT,
    in_use     INTEGER NOT NULL DEFAULT 0 CHECK (in_use IN (0, 1)),
    changed_at INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO continuity (singleton) VALUES (1);
CREATE TABLE hastened_tasks (
    task_name   TEXT   NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    hastened_at INTEGER NOT NULL
) STRICT;
ALTER TABLE runs ADD COLUMN claim TEXT;
ALTER TABLE members ADD COLUMN incarnation TEXT NOT NULL
    DEFAULT '00000000-0000-0000-0000-000000000000';
ALTER TABLE leadership ADD COLUMN incarnation TEXT;
CREATE TABLE member_configurations (
    member_id     TEXT    NOT NULL PRIMARY KEY,
    incarnation   TEXT    NOT NULL,
    fingerprint   TEXT    NOT NULL,
    tasks         TEXT    NOT NULL,
    settings      TEXT    NOT NULL,
    registered_at INTEGER NOT NULL
) STRICT;
CREATE TABLE configuration_in_force (
    singleton   INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    number      INTEGER NOT NULL,
    fingerprint TEXT    NOT NULL,
    tasks       TEXT    NOT NULL,
    decided_by  TEXT    NOT NULL,
    decided_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE contents (
    id         INTEGER PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,
    created_at INTEGER NOT NULL
);
ALTER TABLE inputs ADD COLUMN id INTEGER;
UPDATE inputs SET id = rowid;
CREATE UNIQUE INDEX inputs_id ON inputs (id);
CREATE TABLE input_contents (
    input_id   INTEGER NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id INTEGER NOT NULL REFERENCES contents (id),
    position   INTEGER NOT NULL,
    PRIMARY KEY (input_id, position)
) WITHOUT ROWID;
CREATE INDEX input_contents_content ON input_contents (content_id);
