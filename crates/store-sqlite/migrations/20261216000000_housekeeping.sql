-- When old runs were forgotten last, whoever led then.
CREATE TABLE housekeeping (
    singleton   INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    done_at     INTEGER,                            -- NULL: no leader has looked yet
    logs_warned INTEGER NOT NULL DEFAULT 0 CHECK (logs_warned IN (0, 1))  -- a scheduler has warned that logs are near
                                                                          -- their limit
) STRICT;

INSERT INTO housekeeping (singleton) VALUES (1);

-- Space of the logs of ended runs, measured once.
CREATE TABLE log_sizes (
    run_id TEXT    NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    bytes  INTEGER NOT NULL                         -- 0 also of a log that was removed
) STRICT, WITHOUT ROWID;
