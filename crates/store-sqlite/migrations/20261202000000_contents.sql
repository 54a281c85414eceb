-- An input is the list of its contents: the task, and what each of its views showed. Inputs of earlier versions are in one
-- piece, in the column content; in those with contents that is empty.

CREATE TABLE contents (
    id         INTEGER PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    encoding   TEXT    NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BLOB    NOT NULL,                    -- canonical JSON, encoded as said
    created_at INTEGER NOT NULL
);

-- Short, for the lists of contents: there is one for every input.
ALTER TABLE inputs ADD COLUMN id INTEGER;

UPDATE inputs SET id = rowid;

CREATE UNIQUE INDEX inputs_id ON inputs (id);

CREATE TABLE input_contents (
    input_id   INTEGER NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id INTEGER NOT NULL REFERENCES contents (id),
    position   INTEGER NOT NULL,                    -- in the input, from 0
    PRIMARY KEY (input_id, position)
) WITHOUT ROWID;

CREATE INDEX input_contents_content ON input_contents (content_id);
