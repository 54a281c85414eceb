-- What the members' files say, and the task blocks that took effect last.

CREATE TABLE member_configurations (
    member_id     TEXT    NOT NULL PRIMARY KEY,
    incarnation   TEXT    NOT NULL,
    fingerprint   TEXT    NOT NULL,                 -- what task blocks are compared by, JSON
    tasks         TEXT    NOT NULL,                 -- JSON
    settings      TEXT    NOT NULL,                 -- JSON
    registered_at INTEGER NOT NULL
) STRICT;

CREATE TABLE configuration_in_force (
    singleton   INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    number      INTEGER NOT NULL,                   -- increases by one with every decision
    fingerprint TEXT    NOT NULL,                   -- JSON
    tasks       TEXT    NOT NULL,                   -- JSON
    decided_by  TEXT    NOT NULL,                   -- member that had started
    decided_at  INTEGER NOT NULL
) STRICT;
