-- An input is the list of its contents: the task, and what each of its views showed. Inputs of earlier versions are in one
-- piece, in the column content; in those with contents that is empty.

CREATE TABLE contents (
    id         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash       TEXT   COLLATE "C" NOT NULL UNIQUE,
    encoding   TEXT   NOT NULL CHECK (encoding IN ('plain', 'zstd')),
    content    BYTEA  NOT NULL,                     -- canonical JSON, encoded as said
    created_at BIGINT NOT NULL
);

-- Short, for the lists of contents: there is one for every input.
ALTER TABLE inputs ADD COLUMN id BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE;

CREATE TABLE input_contents (
    input_id   BIGINT   NOT NULL REFERENCES inputs (id) ON DELETE CASCADE,
    content_id BIGINT   NOT NULL REFERENCES contents (id),
    position   SMALLINT NOT NULL,                   -- in the input, from 0
    PRIMARY KEY (input_id, position)
);

CREATE INDEX input_contents_content ON input_contents (content_id);
