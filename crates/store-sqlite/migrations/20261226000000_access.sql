-- Access control: tokens, the record of calls, and the key from which the secrets of leases are made.
CREATE TABLE access_tokens (
    name       TEXT NOT NULL PRIMARY KEY,
    sha256     BLOB NOT NULL UNIQUE,
    role       TEXT NOT NULL,
    tasks      TEXT NOT NULL DEFAULT '[]',           -- patterns of task names, JSON; empty: all tasks
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER                               -- NULL: it does not expire
) STRICT;

-- The number of the newest record. Writers of records wait for it, so numbers are in the order of the changes.
CREATE TABLE audit_head (
    singleton  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton),
    number     INTEGER NOT NULL
) STRICT;
INSERT INTO audit_head (number) VALUES (0);

CREATE TABLE audit_records (
    number      INTEGER NOT NULL PRIMARY KEY,
    recorded_at INTEGER NOT NULL,
    caller_kind TEXT NOT NULL,
    caller      TEXT NOT NULL,
    issuer      TEXT NOT NULL,
    address     TEXT NOT NULL,
    action      TEXT NOT NULL,
    target      TEXT NOT NULL,
    arguments   TEXT NOT NULL,                       -- JSON, without secrets
    outcome     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    calls       INTEGER NOT NULL                     -- calls that the record stands for
) STRICT, WITHOUT ROWID;

-- Refused requests have a share of the table, so that they do not drive out the other records.
CREATE INDEX audit_requests ON audit_records (number) WHERE action = 'request';

CREATE TABLE lease_key (
    singleton  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton),
    key        BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- The caller that asked for a run, as a text; NULL: a change of data did, or the caller is not known.
ALTER TABLE run_requests ADD COLUMN requested_by TEXT;
ALTER TABLE runs ADD COLUMN requested_by TEXT;
ALTER TABLE events ADD COLUMN requested_by TEXT;  -- as in runs
ALTER TABLE tasks ADD COLUMN destroy_requested_by TEXT;  -- that of the run that destroys the task
