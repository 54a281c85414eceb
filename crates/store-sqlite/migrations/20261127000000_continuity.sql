-- Whether what was committed last is still there. After a power cut it may not be, nor in a copy that was made while
-- the file was in use: then no input counts as applied.

CREATE TABLE continuity (
    singleton  INTEGER NOT NULL PRIMARY KEY CHECK (singleton = 1),
    identity   TEXT,                                -- the boot of the machine that has used the file last
    in_use     INTEGER NOT NULL DEFAULT 0 CHECK (in_use IN (0, 1)),  -- not closed in order since
    changed_at INTEGER NOT NULL DEFAULT 0           -- when the identity became another one
) STRICT;

INSERT INTO continuity (singleton) VALUES (1);
