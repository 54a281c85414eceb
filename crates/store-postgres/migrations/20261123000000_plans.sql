-- Runs that only plan, and runs with one attempt.

ALTER TABLE runs
    ADD COLUMN kind            TEXT    NOT NULL DEFAULT 'apply' CHECK (kind IN ('apply', 'plan')),
    ADD COLUMN single          BOOLEAN NOT NULL DEFAULT FALSE,
    -- What a plan says: all three of a plan that has succeeded, none of any other run. Bytes, because a
    -- TEXT cannot hold every character.
    ADD COLUMN changes_present BOOLEAN,
    ADD COLUMN plan_encoding   TEXT    CHECK (plan_encoding IN ('plain', 'zstd')),
    ADD COLUMN plan            BYTEA;

-- Any number of plans may be queued; still one run of a task is running, of whatever kind.
DROP INDEX runs_one_queued;
CREATE UNIQUE INDEX runs_one_queued ON runs (task_name) WHERE status = 'queued' AND kind = 'apply';
CREATE INDEX runs_waiting ON runs (task_name, due_at) WHERE status = 'queued';

DROP INDEX runs_ended;
CREATE INDEX runs_ended ON runs (task_name, kind, (status = 'cancelled'), created_at DESC, id DESC)
    WHERE status IN ('succeeded', 'failed', 'cancelled');

CREATE OR REPLACE FUNCTION cts_queued_due(task TEXT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE
AS $$ BEGIN RETURN (SELECT min(due_at) FROM runs WHERE task_name = task AND status = 'queued'); END $$;
