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
