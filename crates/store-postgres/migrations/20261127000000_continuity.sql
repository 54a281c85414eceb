-- Whether what was committed last is still there. After a failover to a replica that is behind it is not: then no input
-- counts as applied, and whatever was granted before is over.

CREATE TABLE continuity (
    singleton  BOOLEAN NOT NULL DEFAULT TRUE PRIMARY KEY CHECK (singleton),
    identity   TEXT    COLLATE "C",                 -- the server's system identifier and timeline
    in_use     BOOLEAN NOT NULL DEFAULT FALSE,      -- a server is never out of use: of no meaning here
    changed_at BIGINT  NOT NULL DEFAULT 0           -- when the identity became another one
);

INSERT INTO continuity DEFAULT VALUES;
