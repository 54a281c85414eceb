-- The schema of 0.1.0. Later migrations only add to it (CONTRIBUTING.md#compatibility).
--
-- Times are microseconds since 1970-01-01 UTC. Digests are SHA-256 in lower-case hexadecimal, ids UUIDs in their usual
-- form.
--
-- Members, workers and the leadership are tables here too: a file of one process has one of each, by the same rules.

-- Programs whose newest migration has at least the number `oldest` can work with this schema. A migration that removes
-- what older programs use raises the number.
CREATE TABLE schema_compatibility (
    singleton INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    oldest    INTEGER NOT NULL
) STRICT;

INSERT INTO schema_compatibility (singleton, oldest) VALUES (1, 20270401000000);

-- Tasks

CREATE TABLE tasks (
    name                     TEXT    NOT NULL PRIMARY KEY,
    incarnation              INTEGER NOT NULL DEFAULT 1,  -- a task that reuses a name has one more than the newest run of that name
    position                 INTEGER NOT NULL,            -- order of the configuration, then of creation
    origin                   TEXT    NOT NULL CHECK (origin IN ('config', 'api')),
    phase                    TEXT    NOT NULL DEFAULT 'ready'
        CHECK (phase IN ('creating', 'ready', 'deleting', 'discarded')),
    revision                 INTEGER NOT NULL DEFAULT 1,  -- number of the declaration, from 1
    configured               TEXT,                        -- digest of the task block that took effect last; NULL: a task
                                                          -- of the API
    creation                 TEXT    CHECK (creation IN ('keep', 'discard')),  -- of a draft: what follows its run
    creation_run             TEXT,                        -- of a draft: its run
    enabled                  INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    skip_unchanged           INTEGER NOT NULL CHECK (skip_unchanged IN (0, 1)),
    retry_failed             INTEGER NOT NULL CHECK (retry_failed IN (0, 1)),
    requires_driver          TEXT    NOT NULL,            -- capabilities that a worker needs, as in spec
    requires_version         TEXT,                        -- NULL: any
    requires_bundle          INTEGER NOT NULL CHECK (requires_bundle IN (0, 1)),
    spec                     TEXT    NOT NULL,            -- the whole task, JSON
    event_config             TEXT    NOT NULL,            -- the part of spec that events show (their column config)
    concurrency_group        TEXT,                        -- NULL: no group
    last_applied             TEXT,                        -- input that counts as applied
    tried_input              TEXT,                        -- input that was applied, or whose ordinary run failed for good,
                                                          -- since the last change
    applied_instances        TEXT,                        -- numbers of instances by service in the input that was applied
                                                          -- or released last, JSON; NULL without a shrink limit
    released_instances       TEXT,                        -- the same for a release whose input is not applied yet
    held                     TEXT,                        -- why the shrink limit blocks the newest input, JSON
    failures                 INTEGER NOT NULL DEFAULT 0,  -- failed runs since the last success
    skipped                  INTEGER NOT NULL DEFAULT 0,  -- inputs that needed no run
    explanation              TEXT,                        -- newest note of the leader about why the task runs or waits,
                                                          -- JSON
    last_check               TEXT,                        -- newest check of a disabled task, JSON
    cancelled_input          TEXT,                        -- input of a cancelled run: gets no run without a request
    owes_run                 TEXT,                        -- why an apply is owed: declaration, state or journal
    destroy_run              TEXT,                        -- of a task in deletion: the run that destroys its resources;
                                                          -- NULL: they are retained
    destroy_requested_by     TEXT,                        -- caller that requested destroy_run
    destruction_suspended_at INTEGER,                     -- when destroy_run was cancelled; NULL: it is due
    delivery                 INTEGER NOT NULL DEFAULT 0,  -- number of the newest delivery to webhooks; an apply begins a
                                                          -- delivery if its input is new or the last run succeeded
    delivery_first_run       TEXT,                        -- run that began the delivery
    delivery_run             TEXT,                        -- run of its newest attempt
    delivery_input           TEXT,                        -- input of its attempts
    remote_run               TEXT,                        -- newest remote run, JSON; its run may be gone
    state_lineage            TEXT,                        -- of the Terraform state; NULL: no state is known
    state_serial             INTEGER,                     -- as reported last
    state_moves              INTEGER NOT NULL DEFAULT 0,  -- number of records that made directories verify their state
    state_moved_serial       INTEGER,                     -- serial at the last move; NULL: never moved
    state_recorded_at        INTEGER,
    state_recorded_by        TEXT,                        -- run, epoch and kind of the last record
    state_keep               TEXT    CHECK (state_keep IN ('old', 'new')),  -- decision that the next apply carries out
    state_from               TEXT,                        -- former name of the task, whose state the next apply takes over
    state_conflict           TEXT,                        -- why the last run was refused, and the states it saw, JSON
    state_conflict_at        INTEGER,
    state_refused            TEXT                         -- a refused state blocks applies: everywhere, or unless the
        CHECK (state_refused IN ('everywhere', 'unless_named')),  -- worker names a previous backend
    state_refused_settings   INTEGER,                     -- settings of the refused run; runs with other settings may
                                                          -- apply. NULL: none may
    created_at               INTEGER NOT NULL,
    updated_at               INTEGER NOT NULL,
    CHECK ((phase IN ('creating', 'discarded')) = (creation_run IS NOT NULL))
) STRICT;

-- Tasks of the configuration that the API deleted. Each stays deleted until the configuration declares it differently.
CREATE TABLE deleted_tasks (
    name       TEXT    NOT NULL PRIMARY KEY,
    configured TEXT    NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT;

-- When a start of a program last retried the failed runs of a task. Restarts in a loop do not retry each time.
CREATE TABLE hastened_tasks (
    task_name   TEXT    NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    hastened_at INTEGER NOT NULL
) STRICT;

-- The newest change of each task, kept by triggers. A row moves to the end with each change; numbers are never reused.
CREATE TABLE task_changes (
    number    INTEGER PRIMARY KEY AUTOINCREMENT,  -- of the newest change of anything that is shown
    task_name TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TRIGGER tasks_added AFTER INSERT ON tasks
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.name;
    INSERT INTO task_changes (task_name) VALUES (NEW.name);
END;

CREATE TRIGGER tasks_shown
    AFTER UPDATE OF enabled, event_config, phase, incarnation, owes_run, explanation, held, last_check,
                    state_conflict, state_conflict_at, state_keep ON tasks
    WHEN (OLD.enabled, OLD.event_config, OLD.phase, OLD.incarnation, OLD.owes_run, OLD.explanation, OLD.held,
          OLD.last_check, OLD.state_conflict, OLD.state_conflict_at, OLD.state_keep)
        IS NOT (NEW.enabled, NEW.event_config, NEW.phase, NEW.incarnation, NEW.owes_run, NEW.explanation, NEW.held,
                NEW.last_check, NEW.state_conflict, NEW.state_conflict_at, NEW.state_keep)
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.name;
    INSERT INTO task_changes (task_name) VALUES (NEW.name);
END;

CREATE TRIGGER tasks_removed AFTER DELETE ON tasks
BEGIN
    DELETE FROM task_changes WHERE task_name = OLD.name;
END;

-- Inputs

-- An input is the list of its contents: the task, then the items of each of its views.
CREATE TABLE inputs (
    id         INTEGER UNIQUE,                   -- short, for input_contents
    hash       TEXT    NOT NULL PRIMARY KEY,
    instances  TEXT,                             -- numbers of instances by service, JSON; NULL without a shrink limit
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE contents (
    id         INTEGER PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,                 -- canonical JSON, encoded
    created_at INTEGER NOT NULL
);

CREATE TABLE input_contents (
    input_id   INTEGER NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id INTEGER NOT NULL REFERENCES contents (id),
    position   INTEGER NOT NULL,                 -- in the input, from 0
    PRIMARY KEY (input_id, position)
) WITHOUT ROWID;

CREATE INDEX input_contents_content ON input_contents (content_id);

-- Packed modules.
CREATE TABLE bundles (
    hash       TEXT    NOT NULL PRIMARY KEY,
    content    BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT;

-- Runs

-- Runs that a caller waits for and that are not queued yet.
CREATE TABLE run_requests (
    run_id       TEXT    NOT NULL PRIMARY KEY,
    task_name    TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    kind         TEXT    NOT NULL CHECK (kind IN ('apply', 'plan', 'check')),
    accompanies  TEXT,                           -- declaration, decision or journal that the run accompanies, JSON; NULL:
                                                 -- requested for itself
    requested_at INTEGER NOT NULL,
    requested_by TEXT,                           -- the caller; NULL: not known
    trace        TEXT,                           -- as in runs
    refused      TEXT,                           -- why the request was refused
    refused_code TEXT,                           -- the same for programs
    refused_at   INTEGER,
    CHECK ((refused IS NULL) = (refused_at IS NULL))
) STRICT;

CREATE INDEX run_requests_task ON run_requests (task_name);

-- Runs and their events outlive their task. A queued or running run belongs to the present incarnation.
CREATE TABLE runs (
    id                  TEXT    NOT NULL PRIMARY KEY,
    task_name           TEXT    NOT NULL,
    incarnation         INTEGER NOT NULL,                  -- of the task
    kind                TEXT    NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan', 'check')),
    destroys            TEXT    CHECK (destroys IN ('apply', 'plan')),  -- apply: the run destroys; plan: it shows what
                                                           -- a destruction would do; kind is 'check' in both cases
    requested           INTEGER NOT NULL DEFAULT 0 CHECK (requested IN (0, 1)),  -- a caller requested this run
    requested_by        TEXT,                              -- the caller; NULL: a change of data, or not known
    no_retry            INTEGER NOT NULL DEFAULT 0 CHECK (no_retry IN (0, 1)),  -- has one attempt, because a caller waits
    input_hash          TEXT    NOT NULL REFERENCES inputs (hash),
    settings            INTEGER,                           -- generation that its worker must have; NULL: any
    cause               TEXT,                              -- what led to the run, JSON; NULL: not known
    trace               TEXT,                              -- span that led to the run, and links of merged ones, JSON
                                                           -- (docs/telemetry.md#traces)
    status              TEXT    NOT NULL
        CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    due_at              INTEGER NOT NULL,                  -- not leased before
    attempts            INTEGER NOT NULL DEFAULT 0,
    ended_attempts      TEXT,                              -- ended attempts, oldest first, JSON; the newest may be missing
    errors              TEXT    NOT NULL DEFAULT '[]',     -- errors of the attempts, oldest first, JSON
    epoch               INTEGER NOT NULL DEFAULT 0,        -- number of the newest lease
    holder              TEXT,                              -- worker that holds the lease
    claim               TEXT,                              -- call that got the lease; a grant whose answer was lost is
                                                           -- given back by it
    expires_at          INTEGER,                           -- end of the lease
    leased_epoch        INTEGER,                           -- lease that the next four columns describe
    leased_at           INTEGER,
    leased_by           TEXT,                              -- stays after the end of the lease
    run_phase           TEXT,                              -- phase that the worker reported last
    run_phase_since     INTEGER,
    concurrency_group   TEXT,                              -- of an apply, at its newest lease
    waiting_for         TEXT,                              -- what a running run waits for, outside of cts; it takes no slot
    resumed_waits       INTEGER NOT NULL DEFAULT 0,        -- number of the last wait under this lease that ended
    withdrawn           INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1)),  -- the task was changed or disabled since the newest lease
    elsewhere_until     INTEGER,                           -- until then workers other than leased_by get the run
    cancel_requested_at INTEGER,                           -- first order to stop the leased run
    cancel_force        INTEGER NOT NULL DEFAULT 0 CHECK (cancel_force IN (0, 1)),  -- the order is to stop by force
    cancel_noted_at     INTEGER,                           -- when the worker got the order
    remote_run          TEXT,                              -- newest remote run, JSON
    remote_group        TEXT,                              -- concurrency group of a remote run that has not ended: a person
                                                           -- may confirm it while its run waits or is queued again
    summary             TEXT,                              -- of the newest attempt: numbers of resources, and times, JSON
    findings            TEXT,                              -- of the newest attempt: changes and diagnostics, JSON
    changes_present     INTEGER CHECK (changes_present IN (0, 1)),  -- of a succeeded plan, as the next two
    plan_encoding       TEXT    CHECK (plan_encoding IN ('plain', 'zstd')),
    plan                BLOB,                              -- text; BYTEA, because TEXT cannot hold every character
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,                           -- begin of the first attempt
    finished_at         INTEGER,
    updated_at          INTEGER NOT NULL,
    CHECK ((status = 'running') = (holder IS NOT NULL)),
    CHECK ((status = 'running') = (expires_at IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE UNIQUE INDEX runs_one_running ON runs (task_name) WHERE status = 'running';
CREATE UNIQUE INDEX runs_one_of_group ON runs (concurrency_group)
    WHERE status = 'running' AND concurrency_group IS NOT NULL;
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';
CREATE INDEX runs_due ON runs (due_at, id) WHERE status = 'queued';
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
-- Ended runs of a task in the order of pruning.
CREATE INDEX runs_ended ON runs (task_name, kind, status = 'cancelled', created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');

-- From the lease of an apply on, Terraform may change anything, so no input counts as applied. A trigger, so that a lease
-- is one statement.
CREATE TRIGGER runs_leased AFTER UPDATE OF status ON runs
WHEN NEW.status = 'running' AND NEW.kind = 'apply'
BEGIN
    UPDATE tasks SET last_applied = NULL WHERE name = NEW.task_name;
END;

-- Concurrency groups that are taken: by a leased apply, or by a remote run that has not ended.
CREATE VIEW taken_groups AS
    SELECT concurrency_group AS name, task_name, id AS run_id, 1 AS leased FROM runs
    WHERE status = 'running' AND concurrency_group IS NOT NULL
    UNION ALL
    SELECT remote_group, task_name, id, 0 FROM runs
    WHERE status IN ('queued', 'running') AND remote_group IS NOT NULL;

-- Leases that were taken back from a silent holder: by these, remains of its Terraform are known, such as the lock of a
-- state.
CREATE TABLE lost_leases (
    run_id     TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    task_name  TEXT    NOT NULL,
    holder     TEXT    NOT NULL,
    started_at INTEGER NOT NULL,                 -- begin of the first attempt of the run
    lost_at    INTEGER NOT NULL,
    PRIMARY KEY (run_id, epoch)
) STRICT;

CREATE INDEX lost_leases_of_task ON lost_leases (task_name, lost_at);

-- The key from which the secrets of leases are made.
CREATE TABLE lease_key (
    singleton  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    key        BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- Events and logs

CREATE TABLE events (
    position     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,  -- order of a task's events
    id           TEXT    NOT NULL UNIQUE,
    task_name    TEXT    NOT NULL,
    incarnation  INTEGER NOT NULL,
    run_id       TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    success      INTEGER NOT NULL CHECK (success IN (0, 1)),
    start_time   INTEGER NOT NULL,
    end_time     INTEGER NOT NULL,
    error        TEXT,
    summary      TEXT,                           -- as in runs, as the next two
    cause        TEXT,
    requested_by TEXT,
    config       TEXT    NOT NULL                -- deprecated member `config` of the API, JSON
) STRICT;

CREATE INDEX events_task ON events (task_name, incarnation, position);
CREATE INDEX events_run ON events (run_id);

CREATE TRIGGER events_added AFTER INSERT ON events
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.task_name;
    INSERT INTO task_changes (task_name) VALUES (NEW.task_name);
END;

-- The newest ticks of each task that found nothing new: their events have no run. A new tick replaces the oldest.
CREATE TABLE tick_events (
    task_name  TEXT    NOT NULL REFERENCES tasks (name) ON DELETE CASCADE,
    place      INTEGER NOT NULL,                 -- number modulo the events that are kept
    number     INTEGER NOT NULL,                 -- counts the ticks of the task
    id         TEXT    NOT NULL,
    start_time INTEGER NOT NULL,
    end_time   INTEGER NOT NULL,
    config     TEXT    NOT NULL,                 -- as in events
    after      INTEGER NOT NULL,                 -- position of the task's newest event at that time; 0: no event
    PRIMARY KEY (task_name, place)
) STRICT;

CREATE TRIGGER tick_events_added AFTER INSERT ON tick_events
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.task_name;
    INSERT INTO task_changes (task_name) VALUES (NEW.task_name);
END;

CREATE TRIGGER tick_events_replaced AFTER UPDATE ON tick_events
BEGIN
    DELETE FROM task_changes WHERE task_name = NEW.task_name;
    INSERT INTO task_changes (task_name) VALUES (NEW.task_name);
END;

CREATE TABLE log_lines (
    run_id   TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,                   -- from 1, without gaps
    stream   TEXT    NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    line     TEXT    NOT NULL,
    PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- The newest pruning, by any leader.
CREATE TABLE housekeeping (
    singleton   INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    done_at     INTEGER,                         -- NULL: never
    logs_warned INTEGER NOT NULL DEFAULT 0 CHECK (logs_warned IN (0, 1))  -- a scheduler warned that logs are near their limit
) STRICT;

INSERT INTO housekeeping (singleton) VALUES (1);

-- Space of the logs of ended runs, measured once.
CREATE TABLE log_sizes (
    run_id TEXT    NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    bytes  INTEGER NOT NULL                      -- 0 for a removed log
) STRICT, WITHOUT ROWID;

-- Schedulers

CREATE TABLE leadership (
    singleton    INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    epoch        INTEGER NOT NULL,               -- increases by one with every takeover
    holder       TEXT,                           -- id of the leading member
    incarnation  TEXT,                           -- of the last holder; stays after the end of its lease
    expires_at   INTEGER,                        -- NULL: no holder
    served_since INTEGER,                        -- end of the last time without a serving scheduler
    served_at    INTEGER,                         -- last sign of a serving scheduler; NULL: never
    CHECK ((holder IS NULL) = (expires_at IS NULL))
) STRICT;

INSERT INTO leadership (singleton, epoch) VALUES (1, 0);

-- A member id belongs to one life of one process at a time.
CREATE TABLE members (
    id           TEXT    NOT NULL PRIMARY KEY,
    incarnation  TEXT    NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    service_name TEXT    NOT NULL,
    address      TEXT,
    seen_at      INTEGER NOT NULL
) STRICT;

-- The configuration files of the members.
CREATE TABLE member_configurations (
    member_id     TEXT    NOT NULL PRIMARY KEY,
    incarnation   TEXT    NOT NULL,
    fingerprint   TEXT    NOT NULL,              -- by which task blocks are compared, JSON
    tasks         TEXT    NOT NULL,              -- JSON
    settings      TEXT    NOT NULL,              -- JSON
    registered_at INTEGER NOT NULL
) STRICT;

-- The task blocks that took effect last.
CREATE TABLE configuration_in_force (
    singleton   INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    number      INTEGER NOT NULL,                -- increases by one with every decision
    fingerprint TEXT    NOT NULL,                -- JSON
    tasks       TEXT    NOT NULL,                -- JSON
    decided_by  TEXT    NOT NULL,                -- member that had started
    decided_at  INTEGER NOT NULL
) STRICT;

-- Workers and their settings: backend and provider blocks

CREATE TABLE workers (
    id              TEXT    NOT NULL PRIMARY KEY,
    host            TEXT    NOT NULL,
    version         TEXT    NOT NULL,
    slots           INTEGER NOT NULL,
    capabilities    TEXT    NOT NULL,               -- JSON
    settings        TEXT,                           -- digests by key and block, JSON; NULL: not reported
    registration    TEXT,                           -- SHA-256 of the registration of its process; NULL: not reported
    replaced        INTEGER CHECK (replaced IN (0, 1)),  -- TRUE: a later life named this life; FALSE: it was heard after that;
                                                    -- NULL: no life named it
    draining        INTEGER NOT NULL CHECK (draining IN (0, 1)),  -- by its own decision
    drain_requested INTEGER NOT NULL DEFAULT 0 CHECK (drain_requested IN (0, 1)),  -- by an operator
    problem         TEXT,                           -- why its own check fails, JSON; NULL: healthy
    created_at      INTEGER NOT NULL,
    seen_at         INTEGER NOT NULL
) STRICT;

-- Generations of settings.
CREATE TABLE settings (
    number     INTEGER NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,     -- names of blocks, JSON
    digests    TEXT    NOT NULL,     -- digests by key and block, JSON
    in_force   INTEGER NOT NULL CHECK (in_force IN (0, 1)),
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX settings_in_force ON settings (scope) WHERE in_force;

-- For each generation, the generation of its scope that is in force. Queued runs have settings in force.
CREATE VIEW settings_successors AS
    SELECT s.number, f.number AS successor
    FROM settings s JOIN settings f ON f.scope = s.scope AND f.in_force;

-- The generations in force that a worker has.
CREATE TABLE worker_settings (
    worker_id TEXT    NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL,
    PRIMARY KEY (worker_id, number)
) STRICT, WITHOUT ROWID;

-- The key of the digests of settings.
CREATE TABLE cluster_key (
    singleton  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    key        BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- Continuity and archives

-- Whether the last commits are still present. After a power cut, and in a copy of a file in use, they may be lost: then no
-- input counts as applied.
CREATE TABLE continuity (
    singleton  INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    identity   TEXT,                             -- boot of the machine that used the file last
    in_use     INTEGER NOT NULL DEFAULT 0 CHECK (in_use IN (0, 1)),  -- not closed in order since
    changed_at INTEGER NOT NULL DEFAULT 0        -- of the identity
) STRICT;

INSERT INTO continuity (singleton) VALUES (1);

-- Data that resets removed.
CREATE TABLE archives (
    id         TEXT    NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    tasks      INTEGER NOT NULL,                 -- number of removed tasks
    runs       INTEGER NOT NULL
) STRICT;

CREATE TABLE archived_rows (
    archive_id TEXT    NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,                 -- from 1, without gaps
    table_name TEXT    NOT NULL,
    content    TEXT    NOT NULL,                 -- the columns, JSON
    PRIMARY KEY (archive_id, position)
) STRICT, WITHOUT ROWID;

-- Access

CREATE TABLE access_tokens (
    name       TEXT    NOT NULL PRIMARY KEY,
    sha256     BLOB    NOT NULL UNIQUE,
    role       TEXT    NOT NULL,
    tasks      TEXT    NOT NULL DEFAULT '[]',    -- patterns of task names, JSON; empty: all tasks
    created_at INTEGER NOT NULL,
    created_by TEXT    NOT NULL,
    expires_at INTEGER                           -- NULL: never
) STRICT;

-- The number of the newest audit record. Writers wait for this row, so numbers follow the order of the changes.
CREATE TABLE audit_head (
    singleton INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton = 1),
    number    INTEGER NOT NULL
) STRICT;

INSERT INTO audit_head (singleton, number) VALUES (1, 0);

CREATE TABLE audit_records (
    number      INTEGER NOT NULL PRIMARY KEY,
    recorded_at INTEGER NOT NULL,
    caller_kind TEXT    NOT NULL,
    caller      TEXT    NOT NULL,
    issuer      TEXT    NOT NULL,
    address     TEXT    NOT NULL,
    action      TEXT    NOT NULL,
    target      TEXT    NOT NULL,
    arguments   TEXT    NOT NULL,                -- JSON, without secrets
    outcome     TEXT    NOT NULL,
    reason      TEXT    NOT NULL,
    request_id  TEXT    NOT NULL,
    calls       INTEGER NOT NULL                 -- number of calls of the record
) STRICT, WITHOUT ROWID;

-- Refused requests have a share of the table, so that they do not displace other records.
CREATE INDEX audit_requests ON audit_records (number) WHERE action = 'request';
