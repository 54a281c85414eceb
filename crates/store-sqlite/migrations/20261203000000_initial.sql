-- The schema of the first version. Later ones only add to it (CONTRIBUTING.md, "Compatibility").
--
-- Times are microseconds since 1970-01-01 UTC. Digests are SHA-256 in lower-case hexadecimal, ids
-- UUIDs in their usual text form.

-- Which programs can work with this schema: those whose newest migration has at least this number. A migration that
-- takes something away that older programs use raises it.
CREATE TABLE schema_compatibility (
    singleton INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    oldest    INTEGER NOT NULL
) STRICT;

INSERT INTO schema_compatibility (singleton, oldest) VALUES (1, 20261203000000);

CREATE TABLE tasks (
    name             TEXT    NOT NULL PRIMARY KEY,
    incarnation      INTEGER NOT NULL DEFAULT 1,    -- a task that is made under an old name is another one: this is one
                                                    -- more than the newest of which there are runs
    position         INTEGER NOT NULL,              -- order of the configuration, then of creation
    origin           TEXT    NOT NULL CHECK (origin IN ('config', 'api')),
    phase            TEXT    NOT NULL DEFAULT 'ready'
        CHECK (phase IN ('creating', 'ready', 'deleting', 'discarded')),
    revision         INTEGER NOT NULL DEFAULT 1,    -- changes of what is declared of it, from 1
    configured       TEXT,                          -- digest of what the configuration declared when that took effect
                                                    -- last; NULL for tasks of the API
    creation         TEXT    CHECK (creation IN ('keep', 'discard')),  -- of a draft: what follows its run
    creation_run     TEXT                           -- of a draft: its run
        CHECK ((phase IN ('creating', 'discarded')) = (creation_run IS NOT NULL)),
    enabled          INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    skip_unchanged   INTEGER NOT NULL CHECK (skip_unchanged IN (0, 1)),
    retry_failed     INTEGER NOT NULL CHECK (retry_failed IN (0, 1)),
    requires_driver  TEXT    NOT NULL DEFAULT 'terraform',  -- what a worker must be able to do, as in the column spec
    requires_version TEXT,                          -- NULL for any
    requires_bundle  INTEGER NOT NULL DEFAULT 0 CHECK (requires_bundle IN (0, 1)),
    spec             TEXT    NOT NULL,              -- the whole task as JSON
    event_config     TEXT    NOT NULL,              -- of it, what events show (their column config)
    last_applied     TEXT,                          -- input that is applied and not touched since
    tried_input      TEXT,                          -- input that has had its ordinary attempts since the last change:
                                                    -- it was applied, or an ordinary run failed with it for good
    failures         INTEGER NOT NULL DEFAULT 0,    -- failed runs since the last success
    skipped          INTEGER NOT NULL DEFAULT 0,    -- inputs that needed no run
    explanation      TEXT,                          -- what the leader noted last of why it runs or does not; its JSON
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL
) STRICT;

-- Tasks of the configuration that the API has deleted: they stay away until the configuration declares
-- something else of them.
CREATE TABLE deleted_tasks (
    name       TEXT    NOT NULL PRIMARY KEY,
    configured TEXT    NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT;

-- When a start of the program last made the failed runs of a task due at once: not with every start of one that
-- is started over and over. Not moved to another store.
CREATE TABLE hastened_tasks (
    task_name   TEXT    NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    hastened_at INTEGER NOT NULL
) STRICT;

-- An input is the list of its contents: the task, and what each of its views showed. An input without contents is in one
-- piece, in the column content.
CREATE TABLE inputs (
    id         INTEGER,                             -- short, for the lists of contents
    hash       TEXT    NOT NULL PRIMARY KEY,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,                    -- canonical JSON, encoded as said
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX inputs_id ON inputs (id);

CREATE TABLE contents (
    id         INTEGER PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,                    -- canonical JSON, encoded as said
    created_at INTEGER NOT NULL
);

CREATE TABLE input_contents (
    input_id   INTEGER NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id INTEGER NOT NULL REFERENCES contents (id),
    position   INTEGER NOT NULL,                    -- in the input, from 0
    PRIMARY KEY (input_id, position)
) WITHOUT ROWID;

CREATE INDEX input_contents_content ON input_contents (content_id);

-- Runs that a caller waits for and the leader has not queued yet.
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

-- Runs and their events outlive their task. What is queued or running is always of the task that is there.
CREATE TABLE runs (
    id              TEXT    NOT NULL PRIMARY KEY,
    task_name       TEXT    NOT NULL DEFAULT '',
    incarnation     INTEGER NOT NULL DEFAULT 1,     -- that of the task
    kind            TEXT    NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan', 'check')),
    requested       INTEGER NOT NULL DEFAULT 0 CHECK (requested IN (0, 1)),  -- a caller has asked for this very run
    no_retry        INTEGER NOT NULL DEFAULT 0 CHECK (no_retry IN (0, 1)),   -- one attempt, because that caller waits
    input_hash      TEXT    NOT NULL REFERENCES inputs (hash),
    status          TEXT    NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    errors          TEXT    NOT NULL DEFAULT '[]',  -- errors of the attempts, oldest first, JSON
    epoch           INTEGER NOT NULL DEFAULT 0,     -- increases by one with every grant
    holder          TEXT,                           -- worker that holds the lease
    claim           TEXT,                           -- the call of its holder that the lease was granted to, so that a
                                                    -- grant whose answer was lost can be given back
    expires_at      INTEGER,                        -- end of the lease
    due_at          INTEGER NOT NULL,               -- not to be leased before
    started_at      INTEGER,                        -- begin of the first attempt
    finished_at     INTEGER,
    -- What a plan says: all three of a plan that has succeeded, none of any other run.
    changes_present INTEGER CHECK (changes_present IN (0, 1)),
    plan_encoding   TEXT    CHECK (plan_encoding IN ('plain', 'zstd')),
    plan            BLOB,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    CHECK ((status = 'running') = (holder IS NOT NULL)),
    CHECK ((status = 'running') = (expires_at IS NOT NULL))
) STRICT;

-- Any number of plans may be queued; still one run of a task is running, of whatever kind.
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE UNIQUE INDEX runs_one_running ON runs (task_name) WHERE status = 'running';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';
CREATE INDEX runs_due ON runs (due_at, id) WHERE status = 'queued';
-- The order in which the runs of a task are listed.
CREATE INDEX runs_task ON runs (task_name, id);
CREATE INDEX runs_input ON runs (input_hash);
-- The order in which old runs are forgotten.
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');

-- From the moment a run is leased to apply its input Terraform may change anything, so nothing counts as applied. A
-- trigger, so that a lease is one statement.
CREATE TRIGGER runs_leased AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET last_applied = NULL WHERE name = NEW.task_name;
END;

CREATE TABLE events (
    position    INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- order in which they happened
    id          TEXT    NOT NULL UNIQUE,
    task_name   TEXT    NOT NULL DEFAULT '',        -- that of the run, with which an event goes
    incarnation INTEGER NOT NULL DEFAULT 1,
    run_id      TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    success     INTEGER NOT NULL CHECK (success IN (0, 1)),
    start_time  INTEGER NOT NULL,
    end_time    INTEGER NOT NULL,
    error       TEXT,
    config      TEXT    NOT NULL                    -- deprecated member `config` of the API, JSON
) STRICT;

CREATE INDEX events_task ON events (task_name, incarnation, position);
CREATE INDEX events_run ON events (run_id);

CREATE TABLE log_lines (
    run_id   TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,                      -- from 1, without gaps
    stream   TEXT    NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    line     TEXT    NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- Several replicas and workers share a store. In a file of one process there is one of each, which keeps
-- to the same rules.

CREATE TABLE leadership (
    singleton    INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    epoch        INTEGER NOT NULL,                  -- increases by one with every grant
    holder       TEXT,                              -- member that leads, unless its lease has expired
    incarnation  TEXT,                              -- of the last holder; stays when the lease has expired
    expires_at   INTEGER,
    served_since INTEGER,                           -- the end of the last time in which no scheduler served
    served_at    INTEGER,                           -- when one spoke last; NULL: none has spoken
    CHECK ((holder IS NULL) = (expires_at IS NULL))
) STRICT;

INSERT INTO leadership (singleton, epoch) VALUES (1, 0);

-- A member id belongs to one life of one process at a time, and so does the leadership. An incarnation that is not
-- known is nil.
CREATE TABLE members (
    id           TEXT    NOT NULL PRIMARY KEY,
    incarnation  TEXT    NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    service_name TEXT    NOT NULL,
    address      TEXT,
    seen_at      INTEGER NOT NULL
) STRICT;

-- What the members' files say.
CREATE TABLE member_configurations (
    member_id     TEXT    NOT NULL PRIMARY KEY,
    incarnation   TEXT    NOT NULL,
    fingerprint   TEXT    NOT NULL,                 -- what task blocks are compared by, JSON
    tasks         TEXT    NOT NULL,                 -- JSON
    settings      TEXT    NOT NULL,                 -- JSON
    registered_at INTEGER NOT NULL
) STRICT;

-- The task blocks that took effect last.
CREATE TABLE configuration_in_force (
    singleton   INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    number      INTEGER NOT NULL,                   -- increases by one with every decision
    fingerprint TEXT    NOT NULL,                   -- JSON
    tasks       TEXT    NOT NULL,                   -- JSON
    decided_by  TEXT    NOT NULL,                   -- member that had started
    decided_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE workers (
    id              TEXT    NOT NULL PRIMARY KEY,
    host            TEXT    NOT NULL,
    version         TEXT    NOT NULL,
    slots           INTEGER NOT NULL,
    capabilities    TEXT    NOT NULL,               -- JSON
    draining        INTEGER NOT NULL CHECK (draining IN (0, 1)),      -- by its own decision
    drain_requested INTEGER NOT NULL DEFAULT 0 CHECK (drain_requested IN (0, 1)),  -- by an operator
    created_at      INTEGER NOT NULL,
    seen_at         INTEGER NOT NULL
) STRICT;

CREATE TABLE bundles (
    hash       TEXT    NOT NULL PRIMARY KEY,
    content    BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT;

-- Whether what was committed last is still there. After a power cut it may not be, nor in a copy that was made while
-- the file was in use: then no input counts as applied.
CREATE TABLE continuity (
    singleton  INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    identity   TEXT,                                -- the boot of the machine that has used the file last
    in_use     INTEGER NOT NULL DEFAULT 0 CHECK (in_use IN (0, 1)),  -- not closed in order since
    changed_at INTEGER NOT NULL DEFAULT 0           -- when the identity became another one
) STRICT;

INSERT INTO continuity (singleton) VALUES (1);

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
