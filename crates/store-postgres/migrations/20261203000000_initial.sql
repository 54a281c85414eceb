-- The schema of the first version. Later ones only add to it (CONTRIBUTING.md, "Compatibility").
--
-- Times are microseconds since 1970-01-01 UTC. Digests are SHA-256 in lower-case hexadecimal.
-- Names sort bytewise whatever the database's own collation is.

-- Which programs can work with this schema: those whose newest migration has at least this number. A migration that
-- takes something away that older programs use raises it.
CREATE TABLE schema_compatibility (
    singleton BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    oldest    BIGINT  NOT NULL
);

INSERT INTO schema_compatibility (oldest) VALUES (20261203000000);

-- The one source of time of every statement: when the statement began. It stands still within a
-- statement, so that indexes serve comparisons with it; a statement that had to wait for a lock sees a
-- moment that is a little early, which ends a lease it grants a little earlier.
CREATE FUNCTION cts_now() RETURNS BIGINT LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::BIGINT $$;

-- A task that is made under an old name is another one: it has an incarnation of its own, and its runs and events have
-- the same.
CREATE SEQUENCE task_incarnations AS BIGINT START WITH 2;

CREATE TABLE tasks (
    name             TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation      BIGINT  NOT NULL DEFAULT nextval('task_incarnations'),
    position         BIGINT  NOT NULL,              -- order of the configuration, then of creation
    origin           TEXT    NOT NULL CHECK (origin IN ('config', 'api')),
    phase            TEXT    NOT NULL DEFAULT 'ready'
        CHECK (phase IN ('creating', 'ready', 'deleting', 'discarded')),
    revision         BIGINT  NOT NULL DEFAULT 1,    -- changes of what is declared of it, from 1
    configured       TEXT    COLLATE "C",           -- digest of what the configuration declared when that took effect
                                                    -- last; NULL for tasks of the API
    creation         TEXT    CHECK (creation IN ('keep', 'discard')),  -- of a draft: what follows its run
    creation_run     UUID,                          -- of a draft: its run
    enabled          BOOLEAN NOT NULL,
    skip_unchanged   BOOLEAN NOT NULL,
    retry_failed     BOOLEAN NOT NULL,
    requires_driver  TEXT    NOT NULL,              -- what a worker must be able to do
    requires_version TEXT,                          -- NULL: any
    requires_bundle  BOOLEAN NOT NULL,
    spec             TEXT    NOT NULL,              -- the whole task as JSON; JSONB cannot hold \u0000
    event_config     TEXT    NOT NULL,              -- of it, what events show (their column config)
    last_applied     TEXT    COLLATE "C",           -- input that is applied and not touched since
    tried_input      TEXT    COLLATE "C",           -- input that has had its ordinary attempts since the last change:
                                                    -- it was applied, or an ordinary run failed with it for good
    active_run       UUID,                          -- the running run
    failures         INTEGER NOT NULL DEFAULT 0,    -- failed runs since the last success
    skipped          BIGINT  NOT NULL DEFAULT 0,    -- inputs that needed no run
    explanation      TEXT,                          -- what the leader noted last of why it runs or does not; its JSON
    created_at       BIGINT  NOT NULL,
    updated_at       BIGINT  NOT NULL,
    CHECK ((phase IN ('creating', 'discarded')) = (creation_run IS NOT NULL))
) WITH (fillfactor = 70);

-- Tasks of the configuration that the API has deleted: they stay away until the configuration declares
-- something else of them.
CREATE TABLE deleted_tasks (
    name       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    configured TEXT   COLLATE "C" NOT NULL,
    deleted_at BIGINT NOT NULL
);

-- When a start of the program last made the failed runs of a task due at once: not with every start of one that
-- is started over and over. Not moved to another store.
CREATE TABLE hastened_tasks (
    task_name   TEXT   NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    hastened_at BIGINT NOT NULL
);

-- Shows whether the states of tasks are others than before. Most of what is written changes none: runs on
-- their way, log lines, heartbeats. Kept by triggers, so that no writer can forget it. A row is locked by
-- those only who have locked its task.
CREATE TABLE task_versions (
    task_name TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    version   BIGINT NOT NULL                       -- drawn anew with every change of the task's state
) WITH (fillfactor = 50);

-- At random, because a count may come again on a server that took over from another one.
CREATE FUNCTION cts_lot() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (random() * 9007199254740991)::BIGINT $$;

CREATE FUNCTION cts_task_changed() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM task_versions WHERE task_name = OLD.name;
    ELSE
        INSERT INTO task_versions (task_name, version) VALUES (NEW.name, cts_lot())
        ON CONFLICT (task_name) DO UPDATE SET version = excluded.version;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER tasks_changed
    AFTER INSERT OR DELETE OR UPDATE OF enabled, event_config, phase, incarnation ON tasks
    FOR EACH ROW EXECUTE FUNCTION cts_task_changed();

-- An input is the list of its contents: the task, and what each of its views showed. An input without contents is in one
-- piece, in the column content.
CREATE TABLE inputs (
    id         BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,  -- short, for the lists of contents
    hash       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    encoding   TEXT   NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BYTEA  NOT NULL,                     -- canonical JSON, encoded as said
    created_at BIGINT NOT NULL
);

CREATE TABLE contents (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash       TEXT   COLLATE "C" NOT NULL UNIQUE,
    encoding   TEXT   NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BYTEA  NOT NULL,                     -- canonical JSON, encoded as said
    created_at BIGINT NOT NULL
);

CREATE TABLE input_contents (
    input_id   BIGINT   NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id BIGINT   NOT NULL REFERENCES contents (id),
    position   SMALLINT NOT NULL,                   -- in the input, from 0
    PRIMARY KEY (input_id, position)
);

CREATE INDEX input_contents_content ON input_contents (content_id);

-- Runs that a caller waits for and the leader has not queued yet. Written under the lock of the task.
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

-- Runs and their events outlive their task. What is queued or running is always of the task that is there.
CREATE TABLE runs (
    id              UUID    NOT NULL PRIMARY KEY,
    task_name       TEXT    COLLATE "C" NOT NULL,
    incarnation     BIGINT  NOT NULL,               -- that of the task
    kind            TEXT    NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan', 'check')),
    requested       BOOLEAN NOT NULL DEFAULT FALSE, -- a caller has asked for this very run
    no_retry        BOOLEAN NOT NULL DEFAULT FALSE, -- it has one attempt, because that caller waits
    input_hash      TEXT    COLLATE "C" NOT NULL REFERENCES inputs (hash),
    status          TEXT    NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    attempts        INTEGER NOT NULL DEFAULT 0,
    errors          TEXT    NOT NULL DEFAULT '[]',  -- errors of the attempts, oldest first, JSON
    epoch           BIGINT  NOT NULL DEFAULT 0,     -- increases by one with every grant
    holder          TEXT    COLLATE "C",            -- worker that holds the lease
    claim           TEXT,                           -- the call of its holder that the lease was granted to, so that a
                                                    -- grant whose answer was lost can be given back
    expires_at      BIGINT,                         -- end of the lease
    due_at          BIGINT  NOT NULL,               -- not to be leased before
    started_at      BIGINT,                         -- begin of the first attempt
    finished_at     BIGINT,
    -- What a plan says: all three of a plan that has succeeded, none of any other run. Bytes, because a
    -- TEXT cannot hold every character.
    changes_present BOOLEAN,
    plan_encoding   TEXT    CHECK (plan_encoding IN ('plain', 'zstd')),
    plan            BYTEA,
    created_at      BIGINT  NOT NULL,
    updated_at      BIGINT  NOT NULL,
    CHECK ((status = 'running') = (holder IS NOT NULL)),
    CHECK ((status = 'running') = (expires_at IS NOT NULL))
);

-- tasks.active_run and the lock of the task's row see to these two; they are the safety net. Any number of plans may be
-- queued; still one run of a task is running, of whatever kind.
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE UNIQUE INDEX runs_one_running ON runs (task_name) WHERE status = 'running';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';
-- For a look for due runs, which repeats this condition. When statistics were made of an empty queue, all
-- indexes of queued runs seem equally good, also for a look at the queued run of one task.
CREATE INDEX runs_due ON runs (due_at, id) WHERE status = 'queued' AND due_at >= 0;
-- The order in which the runs of a task are listed.
CREATE INDEX runs_task ON runs (task_name, id);
CREATE INDEX runs_input ON runs (input_hash);
-- The ended runs of a task in the order in which they are forgotten, those with a result apart from those that were
-- cancelled. Earlier tasks of a name come behind later ones.
CREATE INDEX runs_results ON runs (task_name, kind, incarnation DESC, created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed');
CREATE INDEX runs_cancelled ON runs (task_name, kind, incarnation DESC, created_at DESC, id DESC)
    WHERE status = 'cancelled';
-- Those that are too old.
CREATE INDEX runs_finished ON runs (finished_at, id) WHERE status IN ('succeeded', 'failed', 'cancelled');
-- Lists of what has failed or was cancelled. What has succeeded is found everywhere.
CREATE INDEX runs_not_applied ON runs (status, id) WHERE status IN ('failed', 'cancelled');

CREATE TABLE events (
    position    BIGINT  GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,  -- order of a task's events
    id          UUID    NOT NULL UNIQUE,
    task_name   TEXT    COLLATE "C" NOT NULL,          -- that of the run, with which an event goes
    incarnation BIGINT  NOT NULL,
    run_id      UUID    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    success     BOOLEAN NOT NULL,
    start_time  BIGINT  NOT NULL,
    end_time    BIGINT  NOT NULL,
    error       TEXT,
    config      TEXT    NOT NULL                    -- deprecated member `config` of the API, JSON
);

CREATE INDEX events_task ON events (task_name, incarnation, position);
CREATE INDEX events_run ON events (run_id);

CREATE FUNCTION cts_event_added() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE task_versions SET version = cts_lot() WHERE task_name = NEW.task_name;
    RETURN NULL;
END $$;

CREATE TRIGGER events_added AFTER INSERT ON events
    FOR EACH ROW EXECUTE FUNCTION cts_event_added();

CREATE TABLE log_lines (
    run_id   UUID   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,                       -- from 1, without gaps
    stream   TEXT   NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    line     TEXT   NOT NULL,
    PRIMARY KEY (run_id, position)
);

CREATE TABLE leadership (
    singleton    BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    epoch        BIGINT  NOT NULL,                  -- increases by one with every takeover
    holder       TEXT    COLLATE "C",               -- id of the member that leads
    incarnation  UUID,                              -- of the last holder; stays when the lease has expired
    expires_at   BIGINT  NOT NULL,
    served_since BIGINT,                            -- the end of the last time in which no scheduler served
    served_at    BIGINT                             -- when one spoke last; NULL: none has spoken
);

INSERT INTO leadership (epoch, expires_at) VALUES (0, 0);

-- A member id belongs to one life of one process at a time, and so does the leadership. An incarnation that is not
-- known is nil.
CREATE TABLE members (
    id           TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation  UUID   NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    service_name TEXT   NOT NULL,
    address      TEXT,
    seen_at      BIGINT NOT NULL
);

-- What the members' files say.
CREATE TABLE member_configurations (
    member_id     TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation   UUID   NOT NULL,
    fingerprint   TEXT   NOT NULL,                  -- what task blocks are compared by, JSON
    tasks         TEXT   NOT NULL,                  -- JSON; JSONB cannot hold \u0000
    settings      TEXT   NOT NULL,                  -- JSON
    registered_at BIGINT NOT NULL
);

-- The task blocks that took effect last.
CREATE TABLE configuration_in_force (
    singleton   BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    number      BIGINT  NOT NULL,                   -- increases by one with every decision
    fingerprint TEXT    NOT NULL,                   -- JSON
    tasks       TEXT    NOT NULL,                   -- JSON
    decided_by  TEXT    COLLATE "C" NOT NULL,       -- member that had started
    decided_at  BIGINT  NOT NULL
);

CREATE TABLE workers (
    id              TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    host            TEXT    COLLATE "C" NOT NULL,
    version         TEXT    NOT NULL,
    slots           BIGINT  NOT NULL,
    capabilities    TEXT    NOT NULL,               -- JSON
    draining        BOOLEAN NOT NULL,               -- by its own decision
    drain_requested BOOLEAN NOT NULL DEFAULT FALSE, -- by an operator
    created_at      BIGINT  NOT NULL,
    seen_at         BIGINT  NOT NULL
);

CREATE TABLE bundles (
    hash       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    content    BYTEA  NOT NULL,
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL
);

-- Whether what was committed last is still there. After a failover to a replica that is behind it is not: then no input
-- counts as applied, and all earlier grants are over.
CREATE TABLE continuity (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    identity   TEXT    COLLATE "C",                 -- the server's system identifier and timeline
    changed_at BIGINT  NOT NULL DEFAULT 0           -- when the identity became another one
);

INSERT INTO continuity DEFAULT VALUES;

-- What resets of the storage have removed.
CREATE TABLE archives (
    id         UUID    NOT NULL PRIMARY KEY,
    created_at BIGINT  NOT NULL,
    tasks      BIGINT  NOT NULL,                    -- how many were removed
    runs       BIGINT  NOT NULL
);

CREATE TABLE archived_rows (
    archive_id UUID    NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    position   BIGINT  NOT NULL,                    -- from 1, without gaps
    table_name TEXT    NOT NULL,
    content    TEXT    NOT NULL,                    -- the columns as JSON
    PRIMARY KEY (archive_id, position)
);

-- Functions that are VOLATILE see what was committed until they are called, while a statement sees
-- what was committed when it began. What must be known after a lock was waited for is read by one. In PL/pgSQL,
-- because the plan of an SQL function is made anew with every statement that calls it.

CREATE FUNCTION cts_queued_due(task TEXT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE
AS $$ BEGIN RETURN (SELECT min(due_at) FROM runs WHERE task_name = task AND status = 'queued'); END $$;

CREATE FUNCTION cts_last_line(run UUID) RETURNS BIGINT LANGUAGE plpgsql VOLATILE
AS $$ BEGIN RETURN (SELECT coalesce(max(position), 0) FROM log_lines WHERE run_id = run); END $$;
