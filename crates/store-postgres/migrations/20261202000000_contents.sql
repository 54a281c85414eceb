-- An input is the list of its contents: the task, and what each of its views showed. Inputs of earlier versions are in one
-- piece, in the column content; in those with contents that is empty.

CREATE TABLE contents (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash       TEXT   COLLATE "C" NOT NULL UNIQUE,
    encoding   TEXT   NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BYTEA  NOT NULL,                     -- canonical JSON, encoded as said
    created_at BIGINT NOT NULL
);

CREATE TABLE input_contents (
    content_id BIGINT   NOT NULL REFERENCES contents (id),
    position   SMALLINT NOT NULL,                   -- in the input, from 0
    input_hash TEXT     COLLATE "C" NOT NULL REFERENCES inputs (hash) ON DELETE CASCADE,
    PRIMARY KEY (input_hash, position)
);

CREATE INDEX input_contents_content ON input_contents (content_id);
