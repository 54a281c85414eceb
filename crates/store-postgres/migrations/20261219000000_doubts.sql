-- What is in doubt since the database is on another timeline than before. All of it is of the last such change.
ALTER TABLE continuity ADD COLUMN doubts_of TEXT;     -- the identity that it is about; NULL, or another one than in identity:
                                                      -- nothing is in doubt, and no input counts as applied from before
ALTER TABLE continuity ADD COLUMN settled TEXT;       -- 'trusted' or 'distrusted' when it is decided; NULL until then
ALTER TABLE continuity ADD COLUMN last_sign BIGINT;   -- the last sign of life of a process before

-- What counted as applied before.
CREATE TABLE doubted_tasks (
    task_name    TEXT    COLLATE "C" NOT NULL PRIMARY KEY REFERENCES tasks (name) ON DELETE CASCADE,
    last_applied TEXT    COLLATE "C",
    tried_input  TEXT    COLLATE "C",
    forgotten    BOOLEAN NOT NULL DEFAULT FALSE        -- a worker has begun a run of which the database does not know
);

-- What was queued or leased, and the epoch of its last grant.
CREATE TABLE doubted_runs (
    run_id UUID   NOT NULL PRIMARY KEY,
    epoch  BIGINT NOT NULL
);

-- The workers that were alive.
CREATE TABLE doubted_workers (
    worker_id TEXT    COLLATE "C" NOT NULL PRIMARY KEY,
    vouched   BOOLEAN NOT NULL DEFAULT FALSE           -- its journal is reported wholly
);
