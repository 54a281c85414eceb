-- When old runs were forgotten last, whoever led then.
CREATE TABLE housekeeping (
    singleton   BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    done_at     BIGINT,                             -- NULL: no leader has looked yet
    logs_warned BOOLEAN NOT NULL DEFAULT FALSE      -- a scheduler has warned that logs are near their limit
);

INSERT INTO housekeeping DEFAULT VALUES;

-- Space of the logs of ended runs, measured once.
CREATE TABLE log_sizes (
    run_id UUID   NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    bytes  BIGINT NOT NULL                          -- 0 also of a log that was removed
);
