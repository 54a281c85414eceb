-- Whose settings count: what workers report of their backend and provider blocks, what of it is in force, and which of it
-- a run needs.
ALTER TABLE workers ADD COLUMN settings TEXT;  -- JSON: digests by key and block; NULL: it does not report them
ALTER TABLE runs ADD COLUMN settings BIGINT;   -- number of the generation its worker must have; NULL: any

CREATE TABLE settings (
    number     BIGINT  NOT NULL PRIMARY KEY,
    scope      TEXT    COLLATE "C" NOT NULL,  -- JSON: names of blocks
    identity   TEXT    NOT NULL,              -- what stands in inputs
    digests    TEXT    NOT NULL,              -- JSON: digests by key and block
    in_force   BOOLEAN NOT NULL,
    created_at BIGINT  NOT NULL
);

CREATE UNIQUE INDEX settings_in_force ON settings (scope) WHERE in_force;

-- Which of the generations in force a worker has.
CREATE TABLE worker_settings (
    worker_id TEXT   COLLATE "C" NOT NULL REFERENCES workers (id) ON DELETE CASCADE,
    number    BIGINT NOT NULL,
    PRIMARY KEY (worker_id, number)
);

CREATE TABLE cluster_key (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    key        BYTEA   NOT NULL,
    created_at BIGINT  NOT NULL
);
