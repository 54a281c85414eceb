-- An input is the list of its contents: the task, and what each of its views showed. Inputs of earlier versions are in one
-- piece, in the column content; in those with contents that is empty.

CREATE TABLE contents (
    id         INTEGER PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,                    -- canonical JSON, encoded as said
    created_at INTEGER NOT NULL
);

CREATE TABLE input_contents (
    content_id INTEGER NOT NULL REFERENCES contents (id),
    position   INTEGER NOT NULL,                    -- in the input, from 0
    input_hash TEXT    NOT NULL REFERENCES inputs (hash) ON DELETE CASCADE,
    PRIMARY KEY (input_hash, position)
) WITHOUT ROWID;

CREATE INDEX input_contents_content ON input_contents (content_id);
