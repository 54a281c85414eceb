-- Access control: tokens, the record of calls, and the key from which the secrets of leases are made.
CREATE TABLE access_tokens (
    name       TEXT NOT NULL PRIMARY KEY,
    sha256     BYTEA NOT NULL UNIQUE,
    role       TEXT NOT NULL,
    tasks      TEXT NOT NULL DEFAULT '[]',           -- patterns of task names, JSON; empty: all tasks
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at BIGINT                               -- NULL: it does not expire
);

-- The number of the newest record. Writers of records wait for it, so numbers are in the order of the changes.
CREATE TABLE audit_head (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    number     BIGINT NOT NULL
);
INSERT INTO audit_head (number) VALUES (0);

CREATE TABLE audit_records (
    number      BIGINT NOT NULL PRIMARY KEY,
    recorded_at BIGINT NOT NULL,
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
    calls       BIGINT NOT NULL                     -- calls that the record stands for
);

-- Refused requests have a share of the table, so that they do not drive out the other records.
CREATE INDEX audit_requests ON audit_records (number) WHERE action = 'request';

CREATE TABLE lease_key (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    key        BYTEA    NOT NULL,
    created_at BIGINT NOT NULL
);

-- The caller that asked for a run, as a text; NULL: a change of data did, or the caller is not known.
ALTER TABLE run_requests ADD COLUMN requested_by TEXT;
ALTER TABLE runs ADD COLUMN requested_by TEXT;
ALTER TABLE events ADD COLUMN requested_by TEXT;  -- as in runs
ALTER TABLE tasks ADD COLUMN destroy_requested_by TEXT;  -- that of the run that destroys the task
