-- What resets of the storage have removed.

CREATE TABLE archives (
    id         TEXT    NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    tasks      INTEGER NOT NULL,                    -- how many were removed
    runs       INTEGER NOT NULL
) STRICT;

CREATE TABLE archived_rows (
    archive_id TEXT    NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,                    -- from 1, without gaps
    table_name TEXT    NOT NULL,
    content    TEXT    NOT NULL,                    -- the columns as JSON
    PRIMARY KEY (archive_id, position)
) STRICT, WITHOUT ROWID;
