-- The schema of 0.1.0. Later migrations only add to it (CONTRIBUTING.md#compatibility).
--
-- Times are microseconds since 1970-01-01 UTC. Digests are SHA-256 in lower-case hexadecimal. Names sort bytewise in
-- any collation of the database. JSON is TEXT, because JSONB cannot hold \u0000.

-- Programs whose newest migration has at least the number `oldest` can work with this schema. A migration that removes
-- what older programs use raises the number.
CREATE TABLE schema_compatibility (
    singleton BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    oldest    BIGINT  NOT NULL
);

INSERT INTO schema_compatibility (oldest) VALUES (20270401000000);

-- The time of every statement: when the statement began. The time is constant within a statement, so that indexes serve
-- comparisons with it. A statement that waited for a lock sees an earlier time and grants a shorter lease.
CREATE FUNCTION cts_now() RETURNS BIGINT LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT (extract(epoch FROM statement_timestamp()) * 1000000)::BIGINT $$;

-- Tasks

-- A task that reuses the name of a deleted task has a new incarnation, as have its runs and events.
CREATE SEQUENCE task_incarnations AS BIGINT START WITH 2;

CREATE TABLE tasks (
    name                     TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation              BIGINT  NOT NULL DEFAULT nextval('task_incarnations'),
    position                 BIGINT  NOT NULL,            -- order of the configuration, then of creation
    origin                   TEXT    NOT NULL CHECK (origin IN ('config', 'api')),
    phase                    TEXT    NOT NULL DEFAULT 'ready'
        CHECK (phase IN ('creating', 'ready', 'deleting', 'discarded')),
    revision                 BIGINT  NOT NULL DEFAULT 1,  -- number of the declaration, from 1
    configured               TEXT    COLLATE "C",         -- digest of the task block that took effect last; NULL: a task
                                                          -- of the API
    creation                 TEXT    CHECK (creation IN ('keep', 'discard')),  -- of a draft: what follows its run
    creation_run             UUID,                        -- of a draft: its run
    enabled                  BOOLEAN NOT NULL,
    skip_unchanged           BOOLEAN NOT NULL,
    retry_failed             BOOLEAN NOT NULL,
    requires_driver          TEXT    NOT NULL,            -- capabilities that a worker needs, as in spec
    requires_version         TEXT,                        -- NULL: any
    requires_bundle          BOOLEAN NOT NULL,
    spec                     TEXT    NOT NULL,            -- the whole task, JSON
    event_config             TEXT    NOT NULL,            -- the part of spec that events show (their column config)
    concurrency_group        TEXT,                        -- NULL: no group
    last_applied             TEXT    COLLATE "C",         -- input that counts as applied
    tried_input              TEXT    COLLATE "C",         -- input that was applied, or whose ordinary run failed for good,
                                                          -- since the last change
    applied_instances        TEXT,                        -- numbers of instances by service in the input that was applied
                                                          -- or released last, JSON; NULL without a shrink limit
    released_instances       TEXT,                        -- the same for a release whose input is not applied yet
    held                     TEXT,                        -- why the shrink limit blocks the newest input, JSON
    active_run               UUID,                        -- the running run
    failures                 INTEGER NOT NULL DEFAULT 0,  -- failed runs since the last success
    skipped                  BIGINT  NOT NULL DEFAULT 0,  -- inputs that needed no run
    explanation              TEXT,                        -- newest note of the leader about why the task runs or waits,
                                                          -- JSON
    last_check               TEXT,                        -- newest check of a disabled task, JSON
    cancelled_input          TEXT    COLLATE "C",         -- input of a cancelled run: gets no run without a request
    owes_run                 TEXT,                        -- why an apply is owed: declaration, state or journal
    destroy_run              UUID,                        -- of a task in deletion: the run that destroys its resources;
                                                          -- NULL: they are retained
    destroy_requested_by     TEXT,                        -- caller that requested destroy_run
    destruction_suspended_at BIGINT,                      -- when destroy_run was cancelled; NULL: it is due
    delivery                 BIGINT  NOT NULL DEFAULT 0,  -- number of the newest delivery to webhooks; an apply begins a
                                                          -- delivery if its input is new or the last run succeeded
    delivery_first_run       UUID,                        -- run that began the delivery
    delivery_run             UUID,                        -- run of its newest attempt
    delivery_input           TEXT    COLLATE "C",         -- input of its attempts
    remote_run               TEXT,                        -- newest remote run, JSON; its run may be gone
    state_lineage            TEXT,                        -- of the Terraform state; NULL: no state is known
    state_serial             BIGINT,                      -- as reported last
    state_moves              BIGINT  NOT NULL DEFAULT 0,  -- number of records that made directories verify their state
    state_moved_serial       BIGINT,                      -- serial at the last move; NULL: never moved
    state_recorded_at        BIGINT,
    state_recorded_by        TEXT,                        -- run, epoch and kind of the last record
    state_keep               TEXT CHECK (state_keep IN ('old', 'new')),  -- decision that the next apply carries out
    state_from               TEXT,                        -- former name of the task, whose state the next apply takes over
    state_conflict           TEXT,                        -- why the last run was refused, and the states it saw, JSON
    state_conflict_at        BIGINT,
    state_refused            TEXT                         -- a refused state blocks applies: everywhere, or unless the
        CHECK (state_refused IN ('everywhere', 'unless_named')),  -- worker names a previous backend
    state_refused_settings   BIGINT,                      -- settings of the refused run; runs with other settings may
                                                          -- apply. NULL: none may
    created_at               BIGINT  NOT NULL,
    updated_at               BIGINT  NOT NULL,
    CHECK ((phase IN ('creating', 'discarded')) = (creation_run IS NOT NULL))
) WITH (fillfactor = 70);

-- Tasks of the configuration that the API deleted. Each stays deleted until the configuration declares it differently.
CREATE TABLE deleted_tasks (
    name       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    configured TEXT   COLLATE "C" NOT NULL,
    deleted_at BIGINT NOT NULL
);

-- When a start of a program last retried the failed runs of a task. Restarts in a loop do not retry each time.
CREATE TABLE hastened_tasks (
    task_name   TEXT   NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    hastened_at BIGINT NOT NULL
);

-- The newest change of each task, kept by triggers. A writer locks a row only after the row of the task. The table is
-- read as a whole; an index would prevent updates in place.
CREATE TABLE task_versions (
    task_name  TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    version    BIGINT NOT NULL,                  -- new with every change of the status
    changed_in XID8   NOT NULL DEFAULT '0'       -- transaction of the newest change of anything that is shown
) WITH (fillfactor = 50);

-- Random, because a counter may repeat on a server that took over.
CREATE FUNCTION cts_lot() RETURNS BIGINT LANGUAGE sql VOLATILE
AS $$ SELECT (random() * 9007199254740991)::BIGINT $$;

CREATE FUNCTION cts_task_changed() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM task_versions WHERE task_name = OLD.name;
    ELSE
        INSERT INTO task_versions (task_name, version, changed_in)
        VALUES (NEW.name, cts_lot(), pg_current_xact_id())
        ON CONFLICT (task_name) DO UPDATE SET version = excluded.version, changed_in = excluded.changed_in;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER tasks_changed
    AFTER INSERT OR DELETE OR UPDATE OF enabled, event_config, phase, incarnation ON tasks
    FOR EACH ROW EXECUTE FUNCTION cts_task_changed();

CREATE TRIGGER tasks_checked AFTER UPDATE OF last_check ON tasks
    FOR EACH ROW EXECUTE FUNCTION cts_task_changed();

CREATE TRIGGER tasks_held
    AFTER UPDATE OF held ON tasks
    FOR EACH ROW WHEN (OLD.held IS DISTINCT FROM NEW.held) EXECUTE FUNCTION cts_task_changed();

CREATE TRIGGER tasks_owes_run
    AFTER UPDATE OF owes_run ON tasks
    FOR EACH ROW WHEN (OLD.owes_run IS DISTINCT FROM NEW.owes_run) EXECUTE FUNCTION cts_task_changed();

-- The current state shows these columns, the status does not.
CREATE FUNCTION cts_task_shown() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE task_versions SET changed_in = pg_current_xact_id() WHERE task_name = NEW.name;
    RETURN NULL;
END $$;

CREATE TRIGGER tasks_shown
    AFTER UPDATE OF explanation, state_conflict, state_conflict_at, state_keep ON tasks
    FOR EACH ROW WHEN ((OLD.explanation, OLD.state_conflict, OLD.state_conflict_at, OLD.state_keep)
        IS DISTINCT FROM (NEW.explanation, NEW.state_conflict, NEW.state_conflict_at, NEW.state_keep))
    EXECUTE FUNCTION cts_task_shown();

-- Inputs

-- An input is the list of its contents: the task, then the items of each of its views.
CREATE TABLE inputs (
    id         BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,  -- short, for input_contents
    hash       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    instances  TEXT,                             -- numbers of instances by service, JSON; NULL without a shrink limit
    created_at BIGINT NOT NULL
);

CREATE TABLE contents (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash       TEXT   COLLATE "C" NOT NULL UNIQUE,
    encoding   TEXT   NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BYTEA  NOT NULL,                  -- canonical JSON, encoded
    created_at BIGINT NOT NULL
);

CREATE TABLE input_contents (
    input_id   BIGINT   NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id BIGINT   NOT NULL REFERENCES contents (id),
    position   SMALLINT NOT NULL,                -- in the input, from 0
    PRIMARY KEY (input_id, position)
);

CREATE INDEX input_contents_content ON input_contents (content_id);

-- Packed modules.
CREATE TABLE bundles (
    hash       TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    content    BYTEA  NOT NULL,
    created_at BIGINT NOT NULL,
    used_at    BIGINT NOT NULL
);

-- Runs

-- Runs that a caller waits for and that are not queued yet. Written under the lock of the task.
CREATE TABLE run_requests (
    run_id       UUID   NOT NULL PRIMARY KEY,
    task_name    TEXT   COLLATE "C" NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    kind         TEXT   NOT NULL CHECK (kind IN ('apply', 'plan', 'check')),
    accompanies  TEXT,                           -- declaration, decision or journal that the run accompanies, JSON; NULL:
                                                 -- requested for itself
    requested_at BIGINT NOT NULL,
    requested_by TEXT,                           -- the caller; NULL: not known
    trace        TEXT,                           -- as in runs
    refused      TEXT,                           -- why the request was refused
    refused_code TEXT,                           -- the same for programs
    refused_at   BIGINT,
    CHECK ((refused IS NULL) = (refused_at IS NULL))
);

CREATE INDEX run_requests_task ON run_requests (task_name);

-- Runs and their events outlive their task. A queued or running run belongs to the present incarnation.
CREATE TABLE runs (
    id                  UUID    NOT NULL PRIMARY KEY,
    task_name           TEXT    COLLATE "C" NOT NULL,
    incarnation         BIGINT  NOT NULL,                  -- of the task
    kind                TEXT    NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan', 'check')),
    destroys            TEXT    CHECK (destroys IN ('apply', 'plan')),  -- apply: the run destroys; plan: it shows what
                                                           -- a destruction would do; kind is 'check' in both cases
    requested           BOOLEAN NOT NULL DEFAULT FALSE,    -- a caller requested this run
    requested_by        TEXT,                              -- the caller; NULL: a change of data, or not known
    no_retry            BOOLEAN NOT NULL DEFAULT FALSE,    -- has one attempt, because a caller waits
    input_hash          TEXT    COLLATE "C" NOT NULL REFERENCES inputs (hash),
    settings            BIGINT,                            -- generation that its worker must have; NULL: any
    cause               TEXT,                              -- what led to the run, JSON; NULL: not known
    trace               TEXT,                              -- span that led to the run, and links of merged ones, JSON
                                                           -- (docs/telemetry.md#traces)
    status              TEXT    NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    due_at              BIGINT  NOT NULL,                  -- not leased before
    attempts            INTEGER NOT NULL DEFAULT 0,
    ended_attempts      TEXT,                              -- ended attempts, oldest first, JSON; the newest may be missing
    errors              TEXT    NOT NULL DEFAULT '[]',     -- errors of the attempts, oldest first, JSON
    epoch               BIGINT  NOT NULL DEFAULT 0,        -- number of the newest lease
    holder              TEXT    COLLATE "C",               -- worker that holds the lease
    claim               TEXT,                              -- call that got the lease; a grant whose answer was lost is
                                                           -- given back by it
    expires_at          BIGINT,                            -- end of the lease
    leased_epoch        BIGINT,                            -- lease that the next four columns describe
    leased_at           BIGINT,
    leased_by           TEXT,                              -- stays after the end of the lease
    run_phase           TEXT,                              -- phase that the worker reported last
    run_phase_since     BIGINT,
    concurrency_group   TEXT,                              -- of an apply, at its newest lease
    waiting_for         TEXT,                              -- what a running run waits for, outside of cts; it takes no slot
    resumed_waits       BIGINT  NOT NULL DEFAULT 0,        -- number of the last wait under this lease that ended
    withdrawn           BOOLEAN NOT NULL DEFAULT FALSE,    -- the task was changed or disabled since the newest lease
    elsewhere_until     BIGINT,                            -- until then workers other than leased_by get the run
    cancel_requested_at BIGINT,                            -- first order to stop the leased run
    cancel_force        BOOLEAN NOT NULL DEFAULT FALSE,    -- the order is to stop by force
    cancel_noted_at     BIGINT,                            -- when the worker got the order
    remote_run          TEXT,                              -- newest remote run, JSON
    remote_group        TEXT,                              -- concurrency group of a remote run that has not ended: a person
                                                           -- may confirm it while its run waits or is queued again
    summary             TEXT,                              -- of the newest attempt: numbers of resources, and times, JSON
    findings            TEXT,                              -- of the newest attempt: changes and diagnostics, JSON
    changes_present     BOOLEAN,                           -- of a succeeded plan, as the next two
    plan_encoding       TEXT    CHECK (plan_encoding IN ('plain', 'zstd')),
    plan                BYTEA,                             -- text; BYTEA, because TEXT cannot hold every character
    created_at          BIGINT  NOT NULL,
    started_at          BIGINT,                            -- begin of the first attempt
    finished_at         BIGINT,
    updated_at          BIGINT  NOT NULL,
    CHECK ((status = 'running') = (holder IS NOT NULL)),
    CHECK ((status = 'running') = (expires_at IS NOT NULL))
);

-- tasks.active_run and the lock of the task's row ensure the next two as well.
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE UNIQUE INDEX runs_one_running ON runs (task_name) WHERE status = 'running';
CREATE UNIQUE INDEX runs_one_of_group ON runs (concurrency_group)
    WHERE status = 'running' AND concurrency_group IS NOT NULL;
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';
-- For due runs, whose statement repeats this condition: with statistics of an empty queue, Postgres cannot tell the
-- indexes of queued runs apart.
CREATE INDEX runs_due ON runs (due_at, id) WHERE status = 'queued' AND due_at >= 0;
-- Queued runs with other settings than those in force, or without, that no change replaces, are among these.
CREATE INDEX runs_unsettled ON runs (settings, task_name, id)
    WHERE status = 'queued' AND (settings IS NULL OR requested OR kind <> 'apply');
-- Queued runs with an order to stop.
CREATE INDEX runs_cancel_requested ON runs (id) WHERE status = 'queued' AND cancel_requested_at IS NOT NULL;
CREATE INDEX runs_remote_group ON runs (remote_group)
    WHERE remote_group IS NOT NULL AND status IN ('queued', 'running');
-- Lists of the runs of a task.
CREATE INDEX runs_task ON runs (task_name, id);
CREATE INDEX runs_input ON runs (input_hash);
-- Ended runs of a task in the order of pruning: those with a result, and cancelled ones.
CREATE INDEX runs_results ON runs (task_name, kind, incarnation DESC, created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed');
CREATE INDEX runs_cancelled ON runs (task_name, kind, incarnation DESC, created_at DESC, id DESC)
    WHERE status = 'cancelled';
-- Pruning by age.
CREATE INDEX runs_finished ON runs (finished_at, id) WHERE status IN ('succeeded', 'failed', 'cancelled');
-- Lists of failed and cancelled runs; succeeded ones are found everywhere.
CREATE INDEX runs_not_applied ON runs (status, id) WHERE status IN ('failed', 'cancelled');

-- Concurrency groups that are taken: by a leased apply, or by a remote run that has not ended.
CREATE VIEW taken_groups AS
    SELECT concurrency_group AS name, task_name, id AS run_id, TRUE AS leased FROM runs
    WHERE status = 'running' AND concurrency_group IS NOT NULL
    UNION ALL
    SELECT remote_group, task_name, id, FALSE FROM runs
    WHERE status IN ('queued', 'running') AND remote_group IS NOT NULL;

-- Leases that were taken back from a silent holder: by these, remains of its Terraform are known, such as the lock of a
-- state.
CREATE TABLE lost_leases (
    run_id     UUID   NOT NULL,
    epoch      BIGINT NOT NULL,
    task_name  TEXT   NOT NULL,
    holder     TEXT   NOT NULL,
    started_at BIGINT NOT NULL,                  -- begin of the first attempt of the run
    lost_at    BIGINT NOT NULL,
    PRIMARY KEY (run_id, epoch)
);

CREATE INDEX lost_leases_of_task ON lost_leases (task_name, lost_at);

-- The key from which the secrets of leases are made.
CREATE TABLE lease_key (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    key        BYTEA   NOT NULL,
    created_at BIGINT  NOT NULL
);

-- VOLATILE functions see what was committed until their call, while a statement sees what was committed when it began.
-- They read what must be known after a wait for a lock. PL/pgSQL keeps their plans.
CREATE FUNCTION cts_queued_due(task TEXT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE
AS $$ BEGIN RETURN (SELECT min(due_at) FROM runs WHERE task_name = task AND status = 'queued'); END $$;

-- Events and logs

CREATE TABLE events (
    position     BIGINT  GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,  -- order of a task's events
    id           UUID    NOT NULL UNIQUE,
    task_name    TEXT    COLLATE "C" NOT NULL,
    incarnation  BIGINT  NOT NULL,
    run_id       UUID    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    success      BOOLEAN NOT NULL,
    start_time   BIGINT  NOT NULL,
    end_time     BIGINT  NOT NULL,
    error        TEXT,
    summary      TEXT,                           -- as in runs, as the next two
    cause        TEXT,
    requested_by TEXT,
    config       TEXT    NOT NULL                -- deprecated member `config` of the API, JSON
);

CREATE INDEX events_task ON events (task_name, incarnation, position);
CREATE INDEX events_run ON events (run_id);

CREATE FUNCTION cts_event_added() RETURNS TRIGGER LANGUAGE plpgsql
AS $$ BEGIN
    UPDATE task_versions SET version = cts_lot(), changed_in = pg_current_xact_id()
    WHERE task_name = NEW.task_name;
    RETURN NULL;
END $$;

CREATE TRIGGER events_added AFTER INSERT ON events
    FOR EACH ROW EXECUTE FUNCTION cts_event_added();

-- The newest ticks of each task that found nothing new: their events have no run. A new tick replaces the oldest.
CREATE TABLE tick_events (
    task_name  TEXT   COLLATE "C" NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    place      BIGINT NOT NULL,                  -- number modulo the events that are kept
    number     BIGINT NOT NULL,                  -- counts the ticks of the task
    id         UUID   NOT NULL,
    start_time BIGINT NOT NULL,
    end_time   BIGINT NOT NULL,
    config     TEXT   NOT NULL,                  -- as in events
    after      BIGINT NOT NULL,                  -- position of the task's newest event at that time; 0: no event
    PRIMARY KEY (task_name, place)
) WITH (fillfactor = 50);

CREATE TRIGGER tick_events_added AFTER INSERT OR UPDATE ON tick_events
    FOR EACH ROW EXECUTE FUNCTION cts_event_added();

CREATE TABLE log_lines (
    run_id   UUID   NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position BIGINT NOT NULL,                    -- from 1, without gaps
    stream   TEXT   NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    line     TEXT   NOT NULL,
    PRIMARY KEY (run_id, position)
);

-- Called after a wait for a lock, as cts_queued_due.
CREATE FUNCTION cts_last_line(run UUID) RETURNS BIGINT LANGUAGE plpgsql VOLATILE
AS $$ BEGIN RETURN (SELECT coalesce(max(position), 0) FROM log_lines WHERE run_id = run); END $$;

-- The newest pruning, by any leader.
CREATE TABLE housekeeping (
    singleton   BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    done_at     BIGINT,                          -- NULL: never
    logs_warned BOOLEAN NOT NULL DEFAULT FALSE,  -- a scheduler warned that logs are near their limit
    log_bytes   BIGINT  NOT NULL DEFAULT 0       -- sum of log_sizes.bytes, kept by triggers
);

INSERT INTO housekeeping DEFAULT VALUES;

-- Space of the logs of ended runs, measured once.
CREATE TABLE log_sizes (
    run_id UUID   NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    bytes  BIGINT NOT NULL                       -- 0 for a removed log
);

CREATE FUNCTION cts_count_logs() RETURNS TRIGGER LANGUAGE plpgsql AS $$
DECLARE
    change BIGINT := 0;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        change := change - (SELECT coalesce(sum(bytes), 0) FROM gone);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        change := change + (SELECT coalesce(sum(bytes), 0) FROM come);
    END IF;
    IF change <> 0 THEN
        UPDATE housekeeping SET log_bytes = log_bytes + change;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER log_sizes_come AFTER INSERT ON log_sizes
    REFERENCING NEW TABLE AS come
    FOR EACH STATEMENT EXECUTE FUNCTION cts_count_logs();
CREATE TRIGGER log_sizes_change AFTER UPDATE ON log_sizes
    REFERENCING OLD TABLE AS gone NEW TABLE AS come
    FOR EACH STATEMENT EXECUTE FUNCTION cts_count_logs();
CREATE TRIGGER log_sizes_go AFTER DELETE ON log_sizes
    REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION cts_count_logs();

-- Schedulers

CREATE TABLE leadership (
    singleton    BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    epoch        BIGINT  NOT NULL,               -- increases by one with every takeover
    holder       TEXT    COLLATE "C",            -- id of the leading member
    incarnation  UUID,                           -- of the last holder; stays after the end of its lease
    expires_at   BIGINT  NOT NULL,
    served_since BIGINT,                         -- end of the last time without a serving scheduler
    served_at    BIGINT                          -- last sign of a serving scheduler; NULL: never
);

INSERT INTO leadership (epoch, expires_at) VALUES (0, 0);

-- A member id belongs to one life of one process at a time.
CREATE TABLE members (
    id           TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation  UUID   NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    service_name TEXT   NOT NULL,
    address      TEXT,
    seen_at      BIGINT NOT NULL
);

-- The configuration files of the members.
CREATE TABLE member_configurations (
    member_id     TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation   UUID   NOT NULL,
    fingerprint   TEXT   NOT NULL,               -- by which task blocks are compared, JSON
    tasks         TEXT   NOT NULL,               -- JSON
    settings      TEXT   NOT NULL,               -- JSON
    registered_at BIGINT NOT NULL
);

-- The task blocks that took effect last.
CREATE TABLE configuration_in_force (
    singleton   BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    number      BIGINT  NOT NULL,                -- increases by one with every decision
    fingerprint TEXT    NOT NULL,                -- JSON
    tasks       TEXT    NOT NULL,                -- JSON
    decided_by  TEXT    COLLATE "C" NOT NULL,    -- member that had started
    decided_at  BIGINT  NOT NULL
);

-- Workers and their settings: backend and provider blocks

CREATE TABLE workers (
    id              TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    host            TEXT    COLLATE "C" NOT NULL,
    version         TEXT    NOT NULL,
    slots           BIGINT  NOT NULL,
    capabilities    TEXT    NOT NULL,               -- JSON
    settings        TEXT,                           -- digests by key and block, JSON; NULL: not reported
    registration    TEXT,                           -- SHA-256 of the registration of its process; NULL: not reported
    replaced        BOOLEAN,                        -- TRUE: a later life named this life; FALSE: it was heard after that;
                                                    -- NULL: no life named it
    draining        BOOLEAN NOT NULL,               -- by its own decision
    drain_requested BOOLEAN NOT NULL DEFAULT FALSE, -- by an operator
    problem         TEXT,                           -- why its own check fails, JSON; NULL: healthy
    created_at      BIGINT  NOT NULL,
    seen_at         BIGINT  NOT NULL
);

-- Generations of settings.
CREATE TABLE settings (
    number     BIGINT  NOT NULL PRIMARY KEY,
    scope      TEXT    COLLATE "C" NOT NULL,     -- names of blocks, JSON
    digests    TEXT    NOT NULL,                 -- digests by key and block, JSON
    in_force   BOOLEAN NOT NULL,
    created_at BIGINT  NOT NULL
);

CREATE UNIQUE INDEX settings_in_force ON settings (scope) WHERE in_force;

-- For each generation, the generation of its scope that is in force. Queued runs have settings in force.
CREATE VIEW settings_successors AS
    SELECT s.number, f.number AS successor
    FROM settings s JOIN settings f ON f.scope = s.scope AND f.in_force;

-- The generations in force that a worker has.
CREATE TABLE worker_settings (
    worker_id TEXT   COLLATE "C" NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
    number    BIGINT NOT NULL,
    PRIMARY KEY (worker_id, number)
);

-- The key of the digests of settings.
CREATE TABLE cluster_key (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    key        BYTEA   NOT NULL,
    created_at BIGINT  NOT NULL
);

-- Continuity and archives

-- Whether the last commits are still present. After a failover to a replica that lags they are not: then no input counts
-- as applied, and all earlier leases are over.
CREATE TABLE continuity (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    identity   TEXT    COLLATE "C",              -- the server's system identifier and timeline
    changed_at BIGINT  NOT NULL DEFAULT 0,       -- of the identity
    doubts_of  TEXT,                             -- identity that the doubts below belong to. NULL, or not the present
                                                 -- identity: nothing is in doubt, no input counts as applied from before
    settled    TEXT,                             -- trusted or distrusted, once decided
    last_sign  BIGINT                            -- last sign of life of a process before the change
);

INSERT INTO continuity DEFAULT VALUES;

-- What counted as applied before the change.
CREATE TABLE doubted_tasks (
    task_name    TEXT    COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    last_applied TEXT    COLLATE "C",
    tried_input  TEXT    COLLATE "C",
    forgotten    BOOLEAN NOT NULL DEFAULT FALSE  -- a worker began a run that the database lacks
);

-- Runs that were queued or leased, with their newest epoch.
CREATE TABLE doubted_runs (
    run_id UUID   NOT NULL PRIMARY KEY,
    epoch  BIGINT NOT NULL
);

-- Workers that were alive.
CREATE TABLE doubted_workers (
    worker_id TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    vouched   BOOLEAN NOT NULL DEFAULT FALSE     -- its journal is reported wholly
);

-- Data that resets removed.
CREATE TABLE archives (
    id         UUID   NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    tasks      BIGINT NOT NULL,                  -- number of removed tasks
    runs       BIGINT NOT NULL
);

CREATE TABLE archived_rows (
    archive_id UUID   NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    position   BIGINT NOT NULL,                  -- from 1, without gaps
    table_name TEXT   NOT NULL,
    content    TEXT   NOT NULL,                  -- the columns, JSON
    PRIMARY KEY (archive_id, position)
);

-- Access

CREATE TABLE access_tokens (
    name       TEXT   NOT NULL PRIMARY KEY,
    sha256     BYTEA  NOT NULL UNIQUE,
    role       TEXT   NOT NULL,
    tasks      TEXT   NOT NULL DEFAULT '[]',     -- patterns of task names, JSON; empty: all tasks
    created_at BIGINT NOT NULL,
    created_by TEXT   NOT NULL,
    expires_at BIGINT                            -- NULL: never
);

-- The number of the newest audit record. Writers wait for this row, so numbers follow the order of the changes.
CREATE TABLE audit_head (
    singleton BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    number    BIGINT  NOT NULL
);

INSERT INTO audit_head (number) VALUES (0);

CREATE TABLE audit_records (
    number      BIGINT NOT NULL PRIMARY KEY,
    recorded_at BIGINT NOT NULL,
    caller_kind TEXT   NOT NULL,
    caller      TEXT   NOT NULL,
    issuer      TEXT   NOT NULL,
    address     TEXT   NOT NULL,
    action      TEXT   NOT NULL,
    target      TEXT   NOT NULL,
    arguments   TEXT   NOT NULL,                 -- JSON, without secrets
    outcome     TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    request_id  TEXT   NOT NULL,
    calls       BIGINT NOT NULL                  -- number of calls of the record
);

-- Refused requests have a share of the table, so that they do not displace other records.
CREATE INDEX audit_requests ON audit_records (number) WHERE action = 'request';
