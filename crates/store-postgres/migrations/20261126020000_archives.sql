-- What resets of the storage have removed.

CREATE TABLE archives (
    id         UUID    NOT NULL PRIMARY KEY,
    created_at BIGINT  NOT NULL,
    tasks      BIGINT  NOT NULL,                    -- how many were removed
    runs       BIGINT  NOT NULL
);

CREATE TABLE archived_rows (
    archive_id UUID    NOT NULL REFERENCES archives (id) ON DELETE CASCADE,
    position   BIGINT  NOT NULL,                    -- from 1, without gaps
    table_name TEXT    NOT NULL,
    content    TEXT    NOT NULL,                    -- the columns as JSON
    PRIMARY KEY (archive_id, position)
);
