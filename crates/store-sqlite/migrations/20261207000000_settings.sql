-- Whose settings count: what workers report of their backend and provider blocks, what of it is in force, and which of it
-- a run needs.
ALTER TABLE workers ADD COLUMN settings TEXT;  -- JSON: digests by key and block; NULL: it does not report them
ALTER TABLE runs ADD COLUMN settings INTEGER;  -- number of the generation its worker must have; NULL: any

CREATE TABLE settings (
    number     INTEGER NOT NULL PRIMARY KEY,
    scope      TEXT    NOT NULL,  -- JSON: names of blocks
    identity   TEXT    NOT NULL,  -- what stands in inputs
    digests    TEXT    NOT NULL,  -- JSON: digests by key and block
    in_force   INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX settings_in_force ON settings (scope) WHERE in_force;

-- Which of the generations in force a worker has.
CREATE TABLE worker_settings (
    worker_id TEXT    NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
    number    INTEGER NOT NULL,
    PRIMARY KEY (worker_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE cluster_key (
    singleton  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (singleton),
    key        BLOB    NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
