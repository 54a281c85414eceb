-- What the members' files say, and the task blocks that took effect last.

CREATE TABLE member_configurations (
    member_id     TEXT   COLLATE "C" NOT NULL PRIMARY KEY,
    incarnation   UUID   NOT NULL,
    fingerprint   TEXT   NOT NULL,                  -- what task blocks are compared by, JSON
    tasks         TEXT   NOT NULL,                  -- JSON; JSONB cannot hold \u0000
    settings      TEXT   NOT NULL,                  -- JSON
    registered_at BIGINT NOT NULL
);

CREATE TABLE configuration_in_force (
    singleton   BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    number      BIGINT  NOT NULL,                   -- increases by one with every decision
    fingerprint TEXT    NOT NULL,                   -- JSON
    tasks       TEXT    NOT NULL,                   -- JSON
    decided_by  TEXT    COLLATE "C" NOT NULL,       -- member that had started
    decided_at  BIGINT  NOT NULL
);
